export { Scheduler } from './scheduler.ts';
export { MemoryBroker, type Weather, calm } from './memory-broker.ts';
export { runSchedule } from './schedule.ts';
export { SimulatedNode } from './simulated-node.ts';
export { NODE, type SimulatedService, simulatedServices } from './simulated-process.ts';
export { mutations } from './mutations.ts';
