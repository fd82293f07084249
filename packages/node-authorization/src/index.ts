export {
  type RequestAttributes,
  authorizationErrorText,
  forbiddenText,
  requestAttributes,
} from './request-attributes.ts';
export { ReviewError, accessReview, isAllowed, reviewedUser, tokenReview } from './reviews.ts';
export { TimedCache } from './timed-cache.ts';
export {
  type CertificateSubject,
  type User,
  anonymousUser,
  asAuthenticated,
  bearerToken,
  certificateUser,
  nodeAdmin,
} from './user.ts';
