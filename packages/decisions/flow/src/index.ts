export { ConcurrencyLimit, type Release } from './concurrency-limit.ts';
export { Lanes } from './lanes.ts';
export { type Rate, TokenBucket } from './token-bucket.ts';
