export { type ContainerStart, type ContainerStop, type PodActions, type PodActionsOptions } from './actions.ts';
export { ANNOTATION, LABEL } from './annotations.ts';
export {
  type BackOffEntry,
  type BackOffLimits,
  type CrashLoopOptions,
  backOffLimits,
  backOffRemaining,
  crashLoopKey,
  crashLoopLimits,
  isLetThrough,
  lengthenBackOff,
} from './back-off.ts';
export { containerHash } from './container-hash.ts';
export { type NamedContainer, containerFieldPath, containersOf, findContainer, isSidecar } from './container-kind.ts';
export { type WantedImage, imageDecision, imageToPull, needsLook } from './image.ts';
export { initSucceeded } from './init-actions.ts';
export { type PlannedStop, graceLeftMs, killPlan, stopTimeout } from './kill-plan.ts';
export {
  type DeadContainerPolicy,
  type DeadContainers,
  defaultDeadContainers,
  surplusContainers,
} from './dead-containers.ts';
export { leftovers } from './leftovers.ts';
export { networkNotReady } from './network-not-ready.ts';
export { podActions } from './pod-actions.ts';
export { type ProbeResult, type ProbeResults, noProbeResults } from './probe-results.ts';
export { restartAll } from './restart-all.ts';
export { isSet, restartDecision, restartsAfter } from './restart.ts';
export { mayRun, nanosToMs, newestContainer } from './runtime-view.ts';
export { sandboxDecision } from './sandbox-decision.ts';
export { readStopAnnotations } from './stop-annotations.ts';
export { unsupportedFields } from './unsupported.ts';
export {
  type WorkerInput,
  type WorkerMachine,
  gracePeriod,
  initialMachine,
  killTimeoutMs,
  stepWorker,
} from './worker-state.ts';
