import { type IncomingHttpHeaders } from 'node:http';
import { badRequest, failure, type Json, type JsonObject } from '@kubus/kube-objects';
import { decodeObject, encodeObject, encodeWatchEvent } from '@kubus/kube-schema';
import { toError } from '@kubus/ports';
import { parse } from 'yaml';
import type { Payload } from './api.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const MEDIA_TYPES = `application/json, application/yaml, ${PROTOBUF}`;

/** How objects are written. */
export type Encoding = 'json' | 'protobuf';

/** The encoding that a client wants objects in; undefined: none that is served. Tables exist in JSON only. @param accept the header. */
export function acceptedEncoding(accept: string): Encoding | undefined {
  if (accept.trim() === '') return 'json';
  for (const range of byQuality(accept)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (type === PROTOBUF && !parameters.some((parameter) => parameter.startsWith('as='))) return 'protobuf';
    if (['*/*', 'application/*', 'application/json', 'application/yaml'].includes(type)) return 'json';
  }
  return undefined;
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
  encoding: Encoding,
): { readonly mediaType: string; readonly content: string | Uint8Array } {
  const bytes = encoding === 'protobuf' ? encodeObject(body) : undefined;
  if (bytes !== undefined) return { mediaType: PROTOBUF, content: bytes };
  return { mediaType: 'application/json', content: JSON.stringify(body) };
}

/** The media type of a watch. */
export const watchMediaType = (encoding: Encoding): string =>
  encoding === 'protobuf' ? `${PROTOBUF};stream=watch` : 'application/json';

/** An event of a watch with what separates it from others. */
export function encodedEvent(type: string, object: JsonObject, encoding: Encoding): string | Uint8Array {
  const bytes = encoding === 'protobuf' ? encodeWatchEvent(type, object) : undefined;
  return bytes ?? `${JSON.stringify({ type, object })}\n`;
}

/** @throws StatusError 400 for a body that is not what its media type says; 415 for another encoding. */
export function payloadOf(headers: IncomingHttpHeaders, body: Buffer): Payload {
  const { 'content-type': contentType = '', 'user-agent': userAgent = '' } = headers;
  if (body.length === 0) return { userAgent, contentType, bytes: body, body: undefined };
  if (contentType.includes('cbor')) {
    const message = `the body of the request was in an unknown format - accepted media types include: ${MEDIA_TYPES}`;
    throw failure(415, 'UnsupportedMediaType', message);
  }
  return { userAgent, contentType, bytes: body, body: decoded(contentType, body) };
}

function decoded(contentType: string, body: Buffer): Json {
  const isProtobuf = contentType.includes('protobuf');
  try {
    if (isProtobuf) return decodeObject(body);
    const text = body.toString();
    return (contentType.includes('yaml') ? parse(text) : JSON.parse(text)) as Json;
  } catch (error) {
    const { message } = toError(error);
    throw badRequest(isProtobuf ? message : `couldn't get version/kind; json parse error: ${message}`);
  }
}
