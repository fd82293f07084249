import { failure, type JsonObject } from '@kubus/kube-objects';
import { encodeObject, encodeWatchEvent } from '@kubus/kube-schema';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
/** Of the bodies of requests and answers. */
export const MEDIA_TYPES = `application/json, application/yaml, ${PROTOBUF}`;

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
