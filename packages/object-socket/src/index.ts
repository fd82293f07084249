export { type ApiObject, type ObjectData, apiObjectSchema } from './api-object.ts';
export { type EnvironmentValues, environmentValues } from './environment-values.ts';
export { ObjectClient } from './object-client.ts';
export { ObjectError } from './object-error.ts';
export { type ObjectReader, noObjects } from './object-reader.ts';
export {
  type Named,
  objectPath,
  objectRoute,
  serviceAccountPath,
  serviceAccountRoute,
  tokenPath,
  tokenRoute,
} from './object-path.ts';
export {
  type ServiceAccount,
  type ServiceAccountToken,
  type TokenQuestion,
  tokenQuestionSchema,
} from './service-account.ts';
