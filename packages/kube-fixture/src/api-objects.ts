import type { ObjectName } from './cluster.ts';
import { ADMIN } from './identity.ts';
import { type Json, type JsonObject, asObject, asText } from './json.ts';
import type { KubeObject } from './object.ts';
import { type DeleteOptions, type PatchKind, Registry, type Target } from './registry.ts';
import { resourceOfKind, tableOf } from './resources.ts';
import { StatusError, badRequest } from './status.ts';
import { Store } from './store.ts';
import { until } from './until.ts';

/** Ends what hangs, in milliseconds. It says nothing about how long anything should take. */
const LIMIT_MS = 180_000;
const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** The objects of an API server, as its administrator sees and changes them without a connection. */
export class ApiObjects {
  readonly registry = new Registry(new Store(), () => Date.now());

  constructor() {
    for (const name of NAMESPACES) this.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

  /**
   * Creates an object, as the administrator.
   *
   * @throws StatusError.
   */
  create(object: JsonObject): KubeObject {
    const namespace = asText(asObject(object['metadata'])['namespace']);
    const target = targetOf({ kind: asText(object['kind']), namespace, name: '' });
    return this.registry.create(target, object, { user: ADMIN });
  }

  /** The object as it is now. */
  get(name: ObjectName): KubeObject | undefined {
    try {
      return this.registry.get(targetOf(name));
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 404) return undefined;
      throw error;
    }
  }

  /** The objects of a kind, of one namespace or of all. */
  list(kind: string, namespace?: string): KubeObject[] {
    const { resource } = targetOf({ kind, name: '' });
    const all = this.registry.store.list(tableOf(resource));
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** Changes an object by a patch, or one of its subresources. @throws StatusError. */
  patch(name: ObjectName, patch: Json, how: { kind?: PatchKind; subresource?: string } = {}): KubeObject {
    const target = { ...targetOf(name), subresource: how.subresource ?? '' };
    return this.registry.patch(target, patch, how.kind ?? 'merge', { user: ADMIN });
  }

  /** Replaces an object, or what one of its subresources is about. @throws StatusError. */
  update(object: KubeObject, subresource = ''): KubeObject {
    const target = { ...targetOf({ kind: object.kind, ...object.metadata }), subresource };
    return this.registry.update(target, object, { user: ADMIN }).object;
  }

  /** Asks for an object's deletion. @throws StatusError. */
  delete(name: ObjectName, options: Omit<DeleteOptions, 'user'> = {}): void {
    this.registry.delete(targetOf(name), { ...options, user: ADMIN });
  }

  /**
   * Resolves with the object as soon as it is as `is` says; `undefined` in its place: when it is gone.
   *
   * @param limitMs milliseconds.
   * @throws KubeFixtureError `ConditionMissing` with the object as it was then.
   */
  async waitFor(name: ObjectName, is: (object: KubeObject) => boolean, limitMs = LIMIT_MS): Promise<KubeObject> {
    const look = () => {
      const object = this.get(name);
      return object !== undefined && is(object) ? object : undefined;
    };
    const what = () => `${textOf(name)} is not as awaited: ${JSON.stringify(this.get(name))}`;
    return until(look, what, limitMs, (listener) => this.registry.store.follow(listener));
  }

  /** Resolves when the object is gone. @throws KubeFixtureError as {@link waitFor}. */
  async waitGone(name: ObjectName, limitMs = LIMIT_MS): Promise<void> {
    const look = () => (this.get(name) === undefined ? true : undefined);
    const what = () => `${textOf(name)} is not gone: ${JSON.stringify(this.get(name))}`;
    await until(look, what, limitMs, (listener) => this.registry.store.follow(listener));
  }
}

/** @throws StatusError 400 for a kind that is not served. */
export function targetOf({ kind, namespace = '', name }: ObjectName): Target {
  const resource = resourceOfKind(kind);
  if (resource === undefined) throw badRequest(`no matches for kind "${kind}"`);
  const within = namespace === '' ? 'default' : namespace;
  return { resource, namespace: resource.namespaced ? within : '', name, subresource: '' };
}

function textOf({ kind, namespace = '', name }: ObjectName): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}
