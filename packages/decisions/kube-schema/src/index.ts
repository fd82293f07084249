export { openApiDocument, openApiV2 } from './openapi.ts';
export { decodeObject, encodeObject, encodeWatchEvent, ProtobufError } from './protobuf.ts';
export { withoutUnknownFields } from './unknown-fields.ts';
