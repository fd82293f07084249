export { DISRUPTION, OWNED_CONDITIONS } from './conditions.ts';
export type { ContainerDetails, PodStatusInput, ResizeCondition, StatusReason, WaitingReason } from './input.ts';
export { type PodPhase, isStatic, isTerminal } from './phase.ts';
export { podResourceList } from './pod-resources.ts';
export { podStatus } from './pod-status.ts';
export { type QosClass, qosClass } from './qos.ts';
export { recursiveReadOnly } from './recursive-read-only.ts';
export { illegalTransition, rejectedStatus, terminatedStatus } from './special-status.ts';
export { FILE_BYTES, LOG_BYTES, LOG_LINES, needsLog, terminationMessage } from './termination-message.ts';
