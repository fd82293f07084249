export { type ApiObject, type ObjectData, apiObjectSchema } from './api-object.ts';
export { ObjectClient } from './object-client.ts';
export { ObjectError } from './object-error.ts';
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
