export { Random } from './random.ts';
export { Scheduler } from './scheduler.ts';
export { MemoryBroker, type MemoryConnection, type Weather, calm } from './memory-broker.ts';
