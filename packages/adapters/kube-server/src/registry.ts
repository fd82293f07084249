import { randomUUID } from 'node:crypto';
import {
  alreadyExists,
  asList,
  asObject,
  asText,
  badRequest,
  conflict,
  deletedStatus,
  failure,
  forbidden,
  invalid,
  isObject,
  type Json,
  type JsonObject,
  keepNamespace,
  keyOf,
  type KubeObject,
  notFound,
  plainJson,
  type Resource,
  resourceOfKind,
  restrictNode,
  type RuleContext,
  sameJson,
  shownAs,
  storedFrom,
  tableOf,
  type Write,
} from '@kubus/kube-objects';
import { timeOfMs } from '@kubus/pod';
import { generatedName } from './generated-name.ts';
import { checkName, checkType, checkUid, otherName, typeOf } from './identity-checks.ts';
import { applied, type Ownership, updated, withManagedFields } from './ownership.ts';
import { type PatchKind, patched } from './patches.ts';
import type { Store } from './store.ts';
import type { Target } from './target.ts';

export interface WriteOptions {
  readonly user: RuleContext['user'];
  /** The request is processed, but nothing is stored. */
  readonly dryRun?: boolean;
  /** Who writes, for `metadata.managedFields`; default: `unknown`. */
  readonly manager?: string;
}

interface PatchOptions extends WriteOptions {
  readonly known?: (object: JsonObject) => JsonObject;
}

/** `DeleteOptions` of meta/v1, as far as it is served. */
export interface DeleteOptions extends WriteOptions {
  readonly graceSeconds?: number;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

/**
 * The behaviour of the API common to all kinds: identity, versions, generations, deletion. The differences of kinds are in
 * their rules. Source: k8s.io/apiserver/pkg/registry.
 *
 * Every method throws a StatusError for a refused request.
 */
export class Registry {
  readonly store: Store;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly #newUid: () => string;

  /** Whether new pods get a service account: each namespace needs one, see `startDefaults`. */
  readonly serviceAccounts: boolean;

  /**
   * @param now milliseconds since the Unix epoch.
   * @param options.newUid the UID of a new object; default: a random UUID.
   */
  constructor(store: Store, now: () => number, options: { serviceAccounts?: boolean; newUid?: () => string } = {}) {
    const { serviceAccounts = false, newUid = randomUUID } = options;
    this.store = store;
    this.now = now;
    this.serviceAccounts = serviceAccounts;
    this.#newUid = newUid;
  }

  get({ resource, namespace, name }: Target): KubeObject {
    const found = this.#find(resource, namespace, name);
    if (found === undefined) throw notFound(resource, name);
    return found;
  }

  #find(resource: Resource, namespace: string, name: string): KubeObject | undefined {
    const stored = this.store.get(tableOf(resource), keyOf(resource, namespace, name));
    return stored && shownAs(resource, stored);
  }

  create(target: Target, body: JsonObject, options: WriteOptions): KubeObject {
    return this.#create(target, body, options, updated(undefined, this.#writer(target, options)));
  }

  #create(target: Target, body: JsonObject, options: WriteOptions, ownership: Ownership): KubeObject {
    const { resource, namespace } = target;
    const given = asObject(body['metadata']);
    checkType(resource, body);
    const prefix = asText(given['generateName']);
    const name = asText(given['name']) || (prefix === '' ? '' : generatedName(prefix));
    if (name === '') {
      const message = 'Required value: name or generateName is required';
      throw invalid(resource, '', [{ field: 'metadata.name', type: 'FieldValueRequired', message }]);
    }
    if (target.name !== '' && target.name !== name) throw badRequest(otherName(name, target.name));
    if (resource.namespaced) this.#checkNamespace(resource, name, namespace, asText(given['namespace']));
    checkName(resource, name);
    if (asText(given['resourceVersion']) !== '') {
      throw failure(500, '', 'resourceVersion should not be set on objects to be created');
    }
    const now = this.now();
    const { rules } = resource;
    const { deletionTimestamp: _at, deletionGracePeriodSeconds: _grace, ...metadata } = given;
    const whole = rules.defaults({
      ...body,
      ...typeOf(resource),
      metadata: {
        ...metadata,
        name,
        ...(resource.namespaced && { namespace }),
        uid: this.#newUid(),
        resourceVersion: '',
        creationTimestamp: timeOfMs(now),
        ...(rules.generationOf && { generation: 1 }),
      },
    });
    this.admit({ operation: 'create', ...target, name, object: whole, previous: undefined }, options.user);
    const object = withManagedFields(rules.create(whole, this.#context(options.user)), ownership(whole));
    const problems = rules.validate(object, undefined, '');
    if (problems.length > 0) throw invalid(resource, name, problems);
    if (this.#find(resource, namespace, name) !== undefined) throw alreadyExists(resource, name);
    return this.#put({ ...target, name }, object, options);
  }

  /** PUT. Also returns whether it has created the object. */
  update(target: Target, body: JsonObject, options: WriteOptions): { object: KubeObject; created: boolean } {
    const { resource, name } = target;
    checkType(resource, body);
    const given = asObject(body['metadata']);
    if (asText(given['name']) !== name) throw badRequest(otherName(asText(given['name']), name));
    const previous = this.#find(resource, target.namespace, name);
    if (previous === undefined && resource.rules.createOnUpdate && target.subresource === '') {
      return { object: this.create(target, body, options), created: true };
    }
    if (previous === undefined) throw notFound(resource, name);
    if (!resource.rules.unconditionalUpdate && asText(given['resourceVersion']) === '') {
      const message = 'Invalid value: 0: must be specified for an update';
      // The reference names the resource here, not the kind.
      const subject = { ...resource, kind: resource.plural };
      throw invalid(subject, name, [{ field: 'metadata.resourceVersion', type: 'FieldValueInvalid', message }]);
    }
    const uid = asText(given['uid']);
    if (uid !== '' && uid !== previous.metadata.uid) {
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${previous.metadata.uid}`;
      throw conflict(resource, name, why);
    }
    const ownership = updated(previous, this.#writer(target, options));
    return { object: this.#change(target, body, previous, options, ownership), created: false };
  }

  /** @param options with what makes the patched object one of its kind: it refuses wrong values, and drops or refuses unknown fields. */
  patch(target: Target, patch: Json, kind: PatchKind, { known, ...options }: PatchOptions): KubeObject {
    const previous = this.get(target);
    const result = patched(previous, patch, kind);
    if (!isObject(result)) throw badRequest('the patch leaves no object');
    const body = known?.(result) ?? result;
    checkType(target.resource, body);
    checkUid(target, body, previous);
    return this.#change(target, body, previous, options, updated(previous, this.#writer(target, options)));
  }

  /** Server-side apply (KEP-555). Also returns whether it has created the object. */
  apply(
    target: Target,
    patch: JsonObject,
    options: WriteOptions & { readonly force: boolean },
  ): { object: KubeObject; created: boolean } {
    const { resource, namespace, name, subresource } = target;
    const previous = this.#find(resource, namespace, name);
    if (previous === undefined && subresource !== '') throw notFound(resource, name);
    const writer = { ...this.#writer(target, options), force: options.force };
    const { object, ownership } = applied(previous, patch, writer);
    if (previous !== undefined) {
      checkUid(target, object, previous);
      return { object: this.#change(target, object, previous, options, ownership), created: false };
    }
    const uid = asText(asObject(patch['metadata'])['uid']);
    if (uid !== '') {
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
      throw conflict(resource, name, why);
    }
    return { object: this.#create(target, object, options, ownership), created: true };
  }

  /** @returns the response to the deletion, and whether the object is removed. */
  delete(target: Target, options: DeleteOptions): { answer: JsonObject; removed: boolean } {
    const { resource, name } = target;
    const { rules } = resource;
    const object = this.get(target);
    const { uid, resourceVersion, deletionTimestamp } = object.metadata;
    this.admit({ operation: 'delete', ...target, object: {}, previous: object }, options.user);
    const subject = { ...resource, plural: resource.kind };
    if (options.uid !== undefined && options.uid !== uid) {
      const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
      throw conflict(subject, name, why);
    }
    if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
      const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
      throw conflict(subject, name, why);
    }
    const next =
      deletionTimestamp === undefined ? this.#begun(object, resource, options) : this.#shortened(object, options);
    // A gracefully deleted object is stored once more before its removal, so that watches see the deletion request.
    const stored = next === object ? object : this.#put(target, next, options);
    const ended = next === object && deletionTimestamp === undefined;
    const over = ended || (stored.metadata.deletionGracePeriodSeconds ?? 0) === 0;
    const removed = over && !isHeld(resource, stored);
    const last = removed ? this.#remove(target, stored, options) : stored;
    const answer = rules.returnsDeleted || !removed ? last : deletedStatus(resource, name, uid);
    return { answer, removed };
  }

  /** The object marked as being deleted; unchanged if it is removed at once. */
  #begun(object: KubeObject, { rules }: Resource, { graceSeconds }: DeleteOptions): KubeObject {
    if (rules.terminating !== undefined) return rules.terminating(object, timeOfMs(this.now()));
    if (rules.grace !== undefined) return this.#deleting(object, rules.grace(object, graceSeconds));
    return (object.metadata.finalizers ?? []).length > 0 ? this.#deleting(object, 0) : object;
  }

  /** Stores a change of the server itself, without the rules for requests. */
  replace(target: Target, object: KubeObject): KubeObject {
    return this.#put(target, object, {});
  }

  #remove(target: Target, last: KubeObject, { dryRun }: Pick<WriteOptions, 'dryRun'>): KubeObject {
    const { resource, namespace, name } = target;
    if (dryRun === true) return last;
    const key = keyOf(resource, namespace, name);
    return shownAs(resource, this.store.remove(tableOf(resource), key, storedFrom(resource, last)));
  }

  #put(
    { resource, namespace, name }: Target,
    object: KubeObject,
    { dryRun }: Pick<WriteOptions, 'dryRun'>,
  ): KubeObject {
    if (dryRun === true) return object;
    const key = keyOf(resource, namespace, name);
    return shownAs(resource, this.store.put(tableOf(resource), key, storedFrom(resource, object)));
  }

  #deleting(object: KubeObject, seconds: number): KubeObject {
    const { generation } = object.metadata;
    return {
      ...object,
      metadata: {
        ...object.metadata,
        ...(generation !== undefined && { generation: generation + 1 }),
        deletionTimestamp: timeOfMs(this.now() + seconds * 1000),
        deletionGracePeriodSeconds: seconds,
      },
    };
  }

  /** A further deletion request can only shorten the grace period. */
  #shortened(object: KubeObject, { graceSeconds: asked }: DeleteOptions): KubeObject {
    const { deletionTimestamp = '', deletionGracePeriodSeconds: before = 0 } = object.metadata;
    const seconds = asked !== undefined && asked < 0 ? 1 : asked;
    if (seconds === undefined || seconds >= before) return object;
    const end = Date.parse(deletionTimestamp) - before * 1000 + seconds * 1000;
    const past = end < this.now();
    return {
      ...object,
      metadata: {
        ...object.metadata,
        deletionTimestamp: timeOfMs(past ? this.now() : end),
        deletionGracePeriodSeconds: past && seconds > 0 ? 1 : seconds,
      },
    };
  }

  #writer(target: Target, { manager = '' }: WriteOptions) {
    return { target, manager, now: this.now() };
  }

  #change(
    target: Target,
    body: JsonObject,
    previous: KubeObject,
    options: WriteOptions,
    ownership: Ownership,
  ): KubeObject {
    const { resource, subresource, name } = target;
    const { rules } = resource;
    const given = asObject(body['metadata']);
    const version = asText(given['resourceVersion']);
    if (version !== '' && version !== previous.metadata.resourceVersion) throw conflict(resource, name, MODIFIED);
    const { uid, creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds } = previous.metadata;
    const asked = {
      ...body,
      ...typeOf(resource),
      metadata: {
        ...given,
        name,
        ...(resource.namespaced && { namespace: target.namespace }),
        uid,
        creationTimestamp,
        resourceVersion: previous.metadata.resourceVersion,
        generation,
        deletionTimestamp,
        deletionGracePeriodSeconds,
      },
    } as KubeObject;
    const prepare = subresource === '' ? rules.update : rules.subresources[subresource];
    if (prepare === undefined) throw notFound(resource, `${name}/${subresource}`);
    const next = subresource === 'status' ? asked : rules.defaults(asked);
    this.admit({ operation: 'update', ...target, object: next, previous }, options.user);
    const managedFields = ownership(next);
    const changed = prepare(next, previous, this.#context(options.user));
    const prepared = plainJson(withManagedFields(changed, managedFields));
    const problems = rules.validate(prepared, previous, subresource);
    if (problems.length > 0) throw invalid(resource, name, problems);
    const object = withGeneration(resource, prepared, previous);
    const { metadata } = object;
    const over = metadata.deletionTimestamp !== undefined && (metadata.deletionGracePeriodSeconds ?? 0) === 0;
    if (over && !isHeld(resource, object)) return this.#remove(target, previous, options);
    return this.#put(target, object, options);
  }

  /**
   * Refuses a write that its user, or anyone, may not make to this object, whatever the user may do to objects of its kind.
   *
   * @throws StatusError 403, 404.
   */
  admit(write: Write, user: RuleContext['user']): void {
    keepNamespace(write);
    restrictNode(write, this.#context(user));
  }

  #context(user: RuleContext['user']): RuleContext {
    return {
      now: this.now(),
      user,
      serviceAccounts: this.serviceAccounts,
      generatedName,
      find: (kind, name, namespace = '') => {
        const resource = resourceOfKind(kind);
        return resource && this.#find(resource, namespace, name);
      },
      all: (kind) => {
        const resource = resourceOfKind(kind);
        return resource === undefined ? [] : this.store.list(tableOf(resource));
      },
    };
  }

  #checkNamespace(resource: Resource, name: string, namespace: string, given: string): void {
    if (given !== '' && given !== namespace) {
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    }
    const found = this.#context(NOBODY).find('Namespace', namespace);
    if (found === undefined) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
    if (found.metadata.deletionTimestamp !== undefined) {
      const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
      throw forbidden(resource, name, why);
    }
  }
}

const NOBODY = { username: '', groups: [] };

/** Whether something has to be done before a deleted object may go. */
function isHeld(resource: Resource, object: KubeObject): boolean {
  const { finalizers = [] } = object.metadata;
  return finalizers.length > 0 || (resource.rules.terminating !== undefined && hasContent(object));
}

function hasContent({ spec }: KubeObject): boolean {
  return asList(spec?.['finalizers']).length > 0;
}

function withGeneration(resource: Resource, object: KubeObject, previous: KubeObject): KubeObject {
  const part = resource.rules.generationOf;
  const { generation } = previous.metadata;
  if (part === undefined || generation === undefined || sameJson(part(object), part(previous))) return object;
  return { ...object, metadata: { ...object.metadata, generation: generation + 1 } };
}
