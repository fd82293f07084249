export { type ApiObject, type ObjectData } from './api-object.ts';
export { environmentValues } from './environment-values.ts';
export { ObjectClient } from './object-client.ts';
export { ObjectError } from './object-error.ts';
export { type ObjectReader, noObjects } from './object-reader.ts';
export { type Named, objectRoute, serviceAccountRoute, tokenRoute } from './object-path.ts';
export {
  type ServiceAccount,
  type ServiceAccountToken,
  type TokenQuestion,
  tokenQuestionSchema,
} from './service-account.ts';
