import { failure, type JsonObject } from '@kubus/kube-objects';
import { encodeObject, encodeOpenApiV2, encodeWatchEvent } from '@kubus/kube-schema';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
/** Of the bodies of requests and answers. */
export const MEDIA_TYPES = `application/json, application/yaml, ${PROTOBUF}`;

/** Of the OpenAPI document, version 2, in protobuf. Source: k8s.io/kube-openapi, pkg/handler. */
const OPENAPI_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
/** As clients before 1.27 ask for it. */
const OPENAPI_PROTOBUF_BEFORE = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const OF_JSON = ['*/*', 'application/*', 'application/json', 'application/yaml'];

/** How objects are written. */
export type Encoding = 'json' | 'protobuf';
/** How a body is written. */
export type BodyEncoding = Encoding | 'openapi-protobuf';

/** The encoding that a client wants objects in; undefined: none that is served. Tables exist in JSON only. @param accept the header. */
export function acceptedEncoding(accept: string): Encoding | undefined {
  if (accept.trim() === '') return 'json';
  for (const range of byQuality(accept)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (type === PROTOBUF && !parameters.some((parameter) => parameter.startsWith('as='))) return 'protobuf';
    if (OF_JSON.includes(type)) return 'json';
  }
  return undefined;
}

/** The encoding that a client wants the OpenAPI document of a path in: version 2 exists in protobuf, too. @param accept the header. */
export function openApiEncoding(path: string, accept: string): BodyEncoding {
  const types = byQuality(accept).map((range) => (range.split(';')[0] ?? '').trim().toLowerCase());
  const wanted = types.find((type) => [OPENAPI_PROTOBUF, OPENAPI_PROTOBUF_BEFORE, ...OF_JSON].includes(type));
  const isProtobuf = wanted !== undefined && !OF_JSON.includes(wanted);
  return path === '/openapi/v2' && isProtobuf ? 'openapi-protobuf' : 'json';
}

function byQuality(accept: string): string[] {
  const quality = (range: string) => Number(/;\s*q=([\d.]+)/.exec(range)?.[1] ?? 1);
  return accept.split(',').sort((a, b) => quality(b) - quality(a));
}

/** As {@link acceptedEncoding}. @throws StatusError 406. */
export function encodingOf(accept: string): Encoding {
  const encoding = acceptedEncoding(accept);
  if (encoding !== undefined) return encoding;
  const streams = ['application/json', PROTOBUF].map((type) => `${type};stream=watch`).join(', ');
  const message = `406: Not Acceptable\n\nAvailable representations: ${MEDIA_TYPES}, ${streams}`;
  throw failure(406, 'NotAcceptable', message, {});
}

/** An answer's body with its media type. What has no protobuf form is written in JSON. */
export function encoded(
  body: JsonObject,
  encoding: BodyEncoding,
): { readonly mediaType: string; readonly content: string | Uint8Array } {
  if (encoding === 'openapi-protobuf') return { mediaType: OPENAPI_PROTOBUF, content: encodeOpenApiV2(body) };
  const bytes = encoding === 'protobuf' ? encodeObject(body) : undefined;
  if (bytes !== undefined) return { mediaType: PROTOBUF, content: bytes };
  return { mediaType: 'application/json', content: JSON.stringify(body) };
}

/** The media type of a watch. */
export const watchMediaType = (encoding: Encoding): string =>
  encoding === 'protobuf' ? `${PROTOBUF};stream=watch` : 'application/json';

/** Writes events of watches: one that several watches send one after the other, once. */
export class EventEncoder {
  #last: { type: string; object: JsonObject; encoding: Encoding; bytes: Uint8Array } | undefined;

  /** The event with what separates it from others. @param object is never changed. */
  encode(type: string, object: JsonObject, encoding: Encoding): Uint8Array {
    const last = this.#last;
    if (last?.object === object && last.type === type && last.encoding === encoding) return last.bytes;
    const protobuf = encoding === 'protobuf' ? encodeWatchEvent(type, object) : undefined;
    const bytes = protobuf ?? Buffer.from(`${JSON.stringify({ type, object })}\n`);
    this.#last = { type, object, encoding, bytes };
    return bytes;
  }
}
