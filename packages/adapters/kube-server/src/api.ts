import {
  asList,
  asObject,
  asText,
  at,
  type JsonObject,
  type KubeObject,
  methodNotAllowed,
  noSuchPath,
  type Resource,
} from '@kubus/kube-objects';
import { fieldManager } from './field-manager.ts';
import type { User } from './identity.ts';
import { FieldValidation } from './field-validation.ts';
import { listObjects } from './lists.ts';
import { bindPod, evictPod } from './pod-actions.ts';
import { applyFields, patchKind } from './patches.ts';
import type { DeleteOptions, Registry, WriteOptions } from './registry.ts';
import { objectOf, optionsOf, patchOf, type Payload, typedObjectOf } from './request-object.ts';
import { isSet, type RequestInfo } from './request-info.ts';
import type { Target } from './target.ts';

/** A body and its HTTP status. */
export interface Answer {
  readonly code: number;
  readonly body: JsonObject;
  /** For the header `Warning`. */
  readonly warnings?: readonly string[];
  /** Left out: that of the encoding. */
  readonly contentType?: string;
}

const EVICTION = { kind: 'Eviction', apiVersion: 'policy/v1' };
const BINDING = { kind: 'Binding', apiVersion: 'v1' };

/**
 * Answers requests about stored objects, other than watches.
 *
 * @throws StatusError.
 */
export function answerObjects(
  registry: Registry,
  resource: Resource,
  info: RequestInfo,
  payload: Payload,
  user: User,
): Answer {
  const { namespace, name, subresource, query, verb } = info;
  const target: Target = { resource, namespace, name, subresource };
  if (subresource !== '' && !resource.subresources.includes(subresource)) throw noSuchPath();
  const options = { user, dryRun: isDryRun(query) };
  const body = () => objectOf(payload, resource.kind);
  const deletion = () => deleteOptions(query, optionsOf(payload, 'DeleteOptions'));
  const evicted = () => deleteOptions(query, asObject(typedObjectOf(payload, EVICTION)['deleteOptions']));
  const manager = (kind: string) => fieldManager(query, payload.userAgent, kind, false);
  switch (verb) {
    case 'get':
      return { code: 200, body: registry.get(target) };
    case 'list':
      return { code: 200, body: listObjects(registry.store, resource, info) };
    case 'create':
      if (subresource === 'eviction') return { code: 201, body: evictPod(registry, target, evicted(), user) };
      if (subresource === 'binding') {
        return {
          code: 201,
          body: bindPod(registry, target, asText(at(typedObjectOf(payload, BINDING), 'target', 'name')), options),
        };
      }
      if (subresource !== '' || name !== '') throw methodNotAllowed();
      return createObject(registry, target, info, payload, { ...options, manager: manager('CreateOptions') });
    case 'update': {
      const fields = new FieldValidation(resource, query, 'UpdateOptions');
      const known = fields.body(body());
      const { object, created } = registry.update(target, known, { ...options, manager: manager('UpdateOptions') });
      return { code: created ? 201 : 200, body: object, warnings: fields.warnings };
    }
    case 'patch':
      return patchObject(registry, target, info, payload, options);
    case 'delete': {
      const { answer } = registry.delete(target, { ...options, ...deletion() });
      return { code: 200, body: answer };
    }
    case 'deletecollection': {
      if (resource.deletedSingly === true) throw methodNotAllowed();
      const list = listObjects(registry.store, resource, info);
      for (const item of list['items'] as readonly KubeObject[]) {
        const { name: one, namespace: within = '' } = item.metadata;
        registry.delete({ ...target, name: one, namespace: within }, { ...options, ...deletion() });
      }
      return { code: 200, body: list };
    }
    default:
      throw methodNotAllowed();
  }
}

function createObject(
  registry: Registry,
  target: Target,
  { query }: RequestInfo,
  payload: Payload,
  options: WriteOptions,
): Answer {
  const fields = new FieldValidation(target.resource, query, 'CreateOptions');
  const body = registry.create(target, fields.body(objectOf(payload, target.resource.kind)), options);
  return { code: 201, body, warnings: fields.warnings };
}

function patchObject(
  registry: Registry,
  target: Target,
  { query }: RequestInfo,
  payload: Payload,
  options: WriteOptions,
): Answer {
  const kind = patchKind(payload.contentType);
  const manager = fieldManager(query, payload.userAgent, 'PatchOptions', kind === 'apply');
  const fields = new FieldValidation(target.resource, query, 'PatchOptions');
  const patch = patchOf(payload, kind);
  if (kind !== 'apply') {
    const known = (object: JsonObject) => fields.patched(object, patch, kind);
    const body = registry.patch(target, patch, kind, { ...options, manager, known });
    return { code: 200, body, warnings: fields.warnings };
  }
  const force = isSet(query, 'force');
  const { object, created } = registry.apply(target, applyFields(patch), {
    ...options,
    manager,
    force,
  });
  return { code: created ? 201 : 200, body: object };
}

const isDryRun = (query: URLSearchParams) => query.get('dryRun') === 'All';

function deleteOptions(query: URLSearchParams, options: JsonObject): Omit<DeleteOptions, 'user'> {
  const { gracePeriodSeconds, preconditions, dryRun } = options;
  const inQuery = query.get('gracePeriodSeconds');
  const seconds =
    typeof gracePeriodSeconds === 'number' ? gracePeriodSeconds : inQuery === null ? undefined : Number(inQuery);
  const { uid, resourceVersion } = asObject(preconditions);
  return {
    dryRun: isDryRun(query) || asList(dryRun).includes('All'),
    ...(seconds !== undefined && { graceSeconds: seconds }),
    ...(typeof uid === 'string' && { uid }),
    ...(typeof resourceVersion === 'string' && { resourceVersion }),
  };
}
