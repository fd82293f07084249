import {
  type Json,
  type JsonObject,
  type KubeObject,
  StatusError,
  asObject,
  asText,
  tableOf,
} from '@kubus/kube-objects';
import { HANGING_MS } from '@kubus/ports/testing';
import {
  ADMIN,
  type DeleteOptions,
  MemoryStore,
  type ObjectName,
  type PatchKind,
  Registry,
  createNamespaces,
  targetOf,
} from '@kubus/kube-server';
import { until } from './until.ts';

/** The objects of an API server, as seen and changed by its administrator without a connection. */
export class ApiObjects {
  readonly registry: Registry;

  /** @param registry default: objects in memory that no server has. */
  constructor(registry = new Registry(new MemoryStore(), () => Date.now())) {
    this.registry = registry;
    createNamespaces(registry);
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

  /** Replaces an object, or the part of one of its subresources. @throws StatusError. */
  update(object: KubeObject, subresource = ''): KubeObject {
    const target = { ...targetOf({ kind: object.kind, ...object.metadata }), subresource };
    return this.registry.update(target, object, { user: ADMIN }).object;
  }

  /** Requests an object's deletion. @throws StatusError. */
  delete(name: ObjectName, options: Omit<DeleteOptions, 'user'> = {}): void {
    this.registry.delete(targetOf(name), { ...options, user: ADMIN });
  }

  /**
   * Resolves with the object as soon as `is` returns true for it; `is` gets `undefined` for a deleted one.
   *
   * @param limitMs milliseconds.
   * @throws KubeFixtureError `ConditionMissing` with the last state of the object.
   */
  async waitFor(name: ObjectName, is: (object: KubeObject) => boolean, limitMs = HANGING_MS): Promise<KubeObject> {
    const look = () => {
      const object = this.get(name);
      return object !== undefined && is(object) ? object : undefined;
    };
    const what = () => `${textOf(name)} is not as awaited: ${JSON.stringify(this.get(name))}`;
    return until(look, what, limitMs, (listener) => this.registry.store.follow(listener));
  }

  /** Resolves when the object is deleted. @throws KubeFixtureError as {@link waitFor}. */
  async waitGone(name: ObjectName, limitMs = HANGING_MS): Promise<void> {
    const look = () => (this.get(name) === undefined ? true : undefined);
    const what = () => `${textOf(name)} is not deleted: ${JSON.stringify(this.get(name))}`;
    await until(look, what, limitMs, (listener) => this.registry.store.follow(listener));
  }
}

function textOf({ kind, namespace = '', name }: ObjectName): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}
