export { openApiDocument, openApiV2 } from './openapi.ts';
export { encodeOpenApiV2 } from './openapi-protobuf.ts';
export { decodeObject, encodeObject, encodeWatchEvent, ProtobufError } from './protobuf.ts';
export { goText } from './go-values.ts';
export { type Type, typeNamed, typeOfField } from './places.ts';
export { fieldsByName, type ObjectType, typeOfObject } from './types.ts';
export { withoutUnknownFields } from './unknown-fields.ts';
export { conversionError, decodingError, patchTypeError } from './wrong-types.ts';
