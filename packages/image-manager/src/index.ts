export {
  type DiskSpace,
  type DiskUsage,
  type ImageGcPolicy,
  type ImageRecord,
  type ImageRecords,
  diskUsage,
  forSpace,
  giveImage,
  isOff,
  notEnoughFreed,
  notRemovedForAge,
  notRemovedForSpace,
  observeImages,
  tooOld,
} from './image-gc.ts';
export { type PullFailure, pullFailure } from './pull-error.ts';
export { pulledMessage } from './pulled-message.ts';
export { type PullQueue, type QueuedPull, startable } from './pull-queue.ts';
export {
  type PresentImage,
  type PullCheck,
  type PullSecret,
  type PulledRecord,
  type PulledWith,
  type Verification,
  learnSecrets,
  pullCheck,
  recordPull,
  recordUnknown,
  verificationPolicies,
} from './pulled-record.ts';
export { type RateLimit, type TokenBucket, fullBucket, takeToken } from './token-bucket.ts';
