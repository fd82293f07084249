export { type Counters, type Fate, type PassingMessage, decide } from './decide.ts';
export { disordered } from './disorder.ts';
export { FaultRules } from './fault-rules.ts';
export { type Disturbance, FaultyTransport } from './faulty-transport.ts';
