export { type WaitingReason, timeOf } from './container-status.ts';
export { type PodPhase, isTerminal } from './phase.ts';
export { type PodStatusInput, podStatus } from './pod-status.ts';
export { type QosClass, qosClass } from './qos.ts';
