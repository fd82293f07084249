export { type ApiObject, type ObjectData, apiObjectSchema } from './api-object.ts';
export { ObjectClient, ObjectError } from './object-client.ts';
export { objectPath, objectRoute } from './object-path.ts';
