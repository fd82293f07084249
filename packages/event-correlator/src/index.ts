export { EventCorrelator, type CorrelatedEvent, type Occurrence } from './event-correlator.ts';
export { TokenBucket, type Rate } from './token-bucket.ts';
