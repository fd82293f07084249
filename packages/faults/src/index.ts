export { Channel } from './channel.ts';
export { type Applied, type Counters, type Fate, type PassingMessage, type Reordering, decide } from './decide.ts';
export { disordered } from './disorder.ts';
export { FaultRules } from './fault-rules.ts';
export { type Disturbance, FaultyTransport, type FaultyTransportOptions } from './faulty-transport.ts';
