import {
  asObject,
  asText,
  at,
  badRequest,
  isObject,
  type Json,
  jsonKind,
  type JsonObject,
  type KubeObject,
  methodNotAllowed,
  noSuchPath,
  type Resource,
} from '@kubus/kube-objects';
import { decodingError, type ObjectType } from '@kubus/kube-schema';
import { fieldManager } from './field-manager.ts';
import type { User } from './identity.ts';
import { FieldValidation } from './field-validation.ts';
import { listObjects } from './lists.ts';
import { bindPod, evictPod } from './pod-actions.ts';
import { applyFields, patchKind } from './patches.ts';
import type { DeleteOptions, Registry, WriteOptions } from './registry.ts';
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

/** What a request has besides its attributes. */
export interface Payload {
  readonly userAgent: string;
  readonly contentType: string;
  /** The body as it came. */
  readonly bytes: Uint8Array;
  readonly body: Json | undefined;
}

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
  const options = { user, dryRun: query.get('dryRun') === 'All' };
  const body = () => objectOf(payload, resource.kind);
  const within = (kind: string, apiVersion: string) => decodedAs({ kind, apiVersion }, objectOf(payload, kind));
  const deletion = () =>
    deleteOptions(query, subresource === 'eviction' ? within('Eviction', 'policy/v1')['deleteOptions'] : payload.body);
  const manager = (kind: string) => fieldManager(query, payload.userAgent, kind, false);
  switch (verb) {
    case 'get':
      return { code: 200, body: registry.get(target) };
    case 'list':
      return { code: 200, body: listObjects(registry.store, resource, info) };
    case 'create':
      if (subresource === 'eviction') return { code: 201, body: evictPod(registry, target, deletion(), user) };
      if (subresource === 'binding') {
        return { code: 201, body: bindPod(registry, target, asText(at(within('Binding', 'v1'), 'target', 'name'))) };
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
  if (payload.body === undefined) throw badRequest('a patch is needed');
  const fields = new FieldValidation(target.resource, query, 'PatchOptions');
  if (kind !== 'apply') {
    const patch = payload.body;
    const known = (object: JsonObject) => fields.patched(object, patch, kind);
    const body = registry.patch(target, patch, kind, { ...options, manager, known });
    return { code: 200, body, warnings: fields.warnings };
  }
  const force = isSet(query, 'force');
  const { object, created } = registry.apply(target, applyFields(payload.body), {
    ...options,
    manager,
    force,
  });
  return { code: created ? 201 : 200, body: object };
}

const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
const SHOWN_BYTES = 30;

/** The object of a request. @throws StatusError 400 for what is none, or does not say of what kind it is. */
function objectOf({ body, bytes }: Payload, kind: string): JsonObject {
  const problem = typeProblem(body);
  if (problem === undefined) return asObject(body);
  throw badRequest(`the object provided is unrecognized (must be of type ${kind}): ${problem} (${summary(bytes)})`);
}

/** Why a body does not say of what kind it is; null is one without fields. */
function typeProblem(body: Json | undefined): string | undefined {
  const problem = (text: string) => `couldn't get version/kind; json parse error: ${text}`;
  if (body === null) return undefined;
  if (body === undefined) return problem('unexpected end of JSON input');
  if (!isObject(body)) return problem(`json: cannot unmarshal ${jsonKind(body)} into Go value of type ${TYPE_META}`);
  for (const field of ['apiVersion', 'kind']) {
    const value = body[field] ?? '';
    if (typeof value === 'string') continue;
    return problem(`json: cannot unmarshal ${jsonKind(value)} into Go struct field .${field} of type string`);
  }
  return undefined;
}

/** The beginning of a body, as the reference shows one that it cannot read. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>';
  const shown = Buffer.from(bytes.subarray(0, SHOWN_BYTES));
  return `${shown.toString(bytes[0] === 0x7b ? 'utf8' : 'hex')}${bytes.length > SHOWN_BYTES ? ' ...' : ''}`;
}

/** @throws StatusError 400 for values of other types than the fields have. */
function decodedAs(type: ObjectType, object: JsonObject): JsonObject {
  const wrong = decodingError(type, object);
  if (wrong === undefined) return object;
  const { kind, apiVersion } = type;
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${wrong}`);
}

function deleteOptions(query: URLSearchParams, body: Json | undefined): Omit<DeleteOptions, 'user'> {
  const options = asObject(body);
  const problem = body === undefined ? undefined : typeProblem(body);
  const wrong = problem ?? decodingError({ apiVersion: 'v1', kind: 'DeleteOptions' }, options);
  if (wrong !== undefined) throw badRequest(wrong);
  const { gracePeriodSeconds, preconditions } = options;
  const inQuery = query.get('gracePeriodSeconds');
  const seconds =
    typeof gracePeriodSeconds === 'number' ? gracePeriodSeconds : inQuery === null ? undefined : Number(inQuery);
  const { uid, resourceVersion } = asObject(preconditions);
  return {
    ...(seconds !== undefined && { graceSeconds: seconds }),
    ...(typeof uid === 'string' && { uid }),
    ...(typeof resourceVersion === 'string' && { resourceVersion }),
  };
}
