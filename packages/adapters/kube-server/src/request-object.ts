import {
  asObject,
  badRequest,
  isObject,
  type Json,
  jsonKind,
  type JsonObject,
  jsonProblem,
  mayBeTooDeep,
  unsupportedMediaType,
} from '@kubus/kube-objects';
import { decodeObject, decodingError, type ObjectType } from '@kubus/kube-schema';
import { toError } from '@kubus/ports';
import { parse, YAMLParseError } from 'yaml';
import { MEDIA_TYPES, PROTOBUF } from './encoding.ts';
import type { PatchKind } from './patches.ts';

/** What a request has besides its attributes. */
export interface Payload {
  readonly userAgent: string;
  readonly contentType: string;
  /** The body as it came. */
  readonly bytes: Uint8Array;
}

/** The value of a body, or why it has none. */
type Decoded = { readonly value: Json } | { readonly problem: string };

const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
const NO_TYPE = "couldn't get version/kind; json parse error: ";
const SHOWN_BYTES = 30;

/** The object of a request. @throws StatusError 400 for what is none, or does not say of what kind it is; 415. */
export function objectOf(payload: Payload, kind: string): JsonObject {
  const decoded = decodedBody(payload);
  const problem = 'problem' in decoded ? decoded.problem : typeProblem(decoded.value);
  if (problem === undefined && 'value' in decoded) return asObject(decoded.value);
  const why = `${problem} (${summary(payload.bytes)})`;
  throw badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why}`);
}

/** As {@link objectOf}. @throws StatusError 400 also for values of other types than the fields have. */
export function typedObjectOf(payload: Payload, type: ObjectType): JsonObject {
  const object = objectOf(payload, type.kind);
  const wrong = decodingError(type, object);
  if (wrong === undefined) return object;
  const { kind, apiVersion } = type;
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${wrong}`);
}

/** The options that a request may carry; none: no fields. @throws StatusError 400, 415. */
export function optionsOf(payload: Payload, kind: string): JsonObject {
  if (payload.bytes.length === 0) return {};
  const decoded = decodedBody(payload);
  if ('problem' in decoded) throw badRequest(decoded.problem);
  const options = asObject(decoded.value);
  const wrong = typeProblem(decoded.value) ?? decodingError({ apiVersion: 'v1', kind }, options);
  if (wrong !== undefined) throw badRequest(wrong);
  return options;
}

/** A patch. @throws StatusError 400. */
export function patchOf({ bytes }: Payload, kind: PatchKind | 'apply'): Json {
  const decoded = kind === 'apply' ? decodedYaml(bytes) : decodedJson(bytes);
  if ('value' in decoded) return decoded.value;
  const before = { apply: 'error decoding YAML: error converting YAML to JSON: ', 'strategic-merge': '' };
  throw badRequest(`${{ ...before, json: DECODING, merge: DECODING }[kind]}${decoded.problem}`);
}

const DECODING = 'error decoding patch: ';

/** @throws StatusError 415. */
function decodedBody({ contentType, bytes }: Payload): Decoded {
  const [type = ''] = contentType.split(';');
  switch (type.trim().toLowerCase()) {
    case '':
    case 'application/json': {
      const decoded = decodedJson(bytes);
      return 'value' in decoded ? decoded : { problem: `${NO_TYPE}${decoded.problem}` };
    }
    case 'application/yaml':
      return decodedYaml(bytes);
    case PROTOBUF:
      return decodedProtobuf(bytes);
    default:
      throw unsupportedMediaType(
        `the body of the request was in an unknown format - accepted media types include: ${MEDIA_TYPES}`,
      );
  }
}

function decodedJson(bytes: Uint8Array): Decoded {
  const problem = mayBeTooDeep(bytes) ? jsonProblem(bytes) : undefined;
  if (problem !== undefined) return { problem };
  try {
    return { value: JSON.parse(Buffer.from(bytes).toString()) as Json };
  } catch (error) {
    return { problem: jsonProblem(bytes) ?? toError(error).message };
  }
}

/** With the words of the library behind those that the reference's errors begin with. */
function decodedYaml(bytes: Uint8Array): Decoded {
  try {
    return { value: parse(Buffer.from(bytes).toString()) as Json };
  } catch (error) {
    const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined;
    const [words = ''] = toError(error).message.split(/ at line \d|\n/);
    return { problem: `yaml: ${line === undefined ? '' : `line ${line}: `}${words}` };
  }
}

function decodedProtobuf(bytes: Uint8Array): Decoded {
  if (bytes.length === 0) return { problem: 'empty data' };
  try {
    return { value: decodeObject(bytes) };
  } catch (error) {
    return { problem: toError(error).message };
  }
}

/** Why a body does not say of what kind it is; null is one without fields. */
function typeProblem(body: Json): string | undefined {
  if (body === null) return undefined;
  if (!isObject(body)) return `${NO_TYPE}json: cannot unmarshal ${jsonKind(body)} into Go value of type ${TYPE_META}`;
  for (const field of ['apiVersion', 'kind']) {
    const value = body[field] ?? '';
    if (typeof value === 'string') continue;
    return `${NO_TYPE}json: cannot unmarshal ${jsonKind(value)} into Go struct field .${field} of type string`;
  }
  return undefined;
}

/** The beginning of a body, as the reference shows one that it cannot read. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>';
  const shown = Buffer.from(bytes.subarray(0, SHOWN_BYTES));
  return `${shown.toString(bytes[0] === 0x7b ? 'utf8' : 'hex')}${bytes.length > SHOWN_BYTES ? ' ...' : ''}`;
}
