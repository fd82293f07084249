export { Random } from './random.ts';
export { Scheduler } from './scheduler.ts';
export { MemoryBroker, type MemoryConnection, type Weather, calm } from './memory-broker.ts';
export { type Violation } from './invariants.ts';
export { type ScheduleOptions, type ScheduleResult, runSchedule } from './schedule.ts';
export { type Mutations, NODE, SimulatedNode, type SimulatedService, simulatedServices } from './simulated-node.ts';
export { mutations } from './mutations.ts';
