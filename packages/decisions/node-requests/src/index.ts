export {
  type RequestAttributes,
  authorizationErrorText,
  forbiddenText,
  requestAttributes,
} from './authorization/request-attributes.ts';
export { accessReview, isAllowed, reviewedUser, tokenReview } from './authorization/reviews.ts';
export { TimedCache } from './authorization/timed-cache.ts';
export {
  type User,
  anonymousUser,
  asAuthenticated,
  bearerToken,
  certificateUser,
  nodeAdmin,
} from './authorization/user.ts';
export { type LogOptions, type Query, isRefused, parseLogOptions, sinceNanos } from './pods/log-options.ts';
export { parsePorts, parseStreamOptions } from './pods/stream-options.ts';
export { type NodePod, podList, runningPodList } from './pods/pod-list.ts';
export { checkpointName } from './pods/checkpoint-name.ts';
