export { type Cancel, type Clock, sleep } from './clock.ts';
export { KubusError, hasErrno, ignoring, toError } from './errors.ts';
export { type Ids } from './ids.ts';
export { type Logger, type LogFields, silentLogger } from './logger.ts';
export { Random } from './random.ts';
export { type RecordStore } from './record-store.ts';
