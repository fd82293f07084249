export { EventCorrelator, type CorrelatedEvent } from './event-correlator.ts';
export { TokenBucket, type Rate } from './token-bucket.ts';
