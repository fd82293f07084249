export { asyncApiDocument } from './asyncapi.ts';
export { type JsonSchema, jsonSchemas } from './json-schemas.ts';
