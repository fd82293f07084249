export { Scheduler } from './scheduler.ts';
export { MemoryBroker, type Weather, calm } from './memory-broker.ts';
export { runSchedule } from './schedule.ts';
export { NODE, SimulatedNode, type SimulatedService, simulatedServices } from './simulated-node.ts';
export { mutations } from './mutations.ts';
