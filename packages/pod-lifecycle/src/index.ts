export { ANNOTATION, LABEL } from './annotations.ts';
export {
  type BackOffEntry,
  type BackOffLimits,
  backOffLimits,
  backOffRemaining,
  formatWait,
  lengthenBackOff,
} from './back-off.ts';
export { containerHash } from './container-hash.ts';
export { type ImageDecision, imageDecision, imageToPull, needsLook } from './image.ts';
export { type ContainerStart, type ContainerStop, type PodActions, leftovers, podActions } from './pod-actions.ts';
export { type RestartDecision, isSet, restartDecision } from './restart.ts';
export { mayRun, nanosToMs, newestContainer, newestSandbox } from './runtime-view.ts';
export { type SandboxDecision, sandboxDecision } from './sandbox-decision.ts';
export { unsupportedFields } from './unsupported.ts';
export { type WorkerInput, type WorkerMachine, gracePeriod, initialMachine, stepWorker } from './worker-state.ts';
