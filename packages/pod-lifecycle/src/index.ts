export {
  type ContainerStart,
  type ContainerStop,
  type PodActions,
  type PodActionsOptions,
  type StopReason,
  nextAttempt,
} from './actions.ts';
export { ANNOTATION, LABEL } from './annotations.ts';
export {
  type BackOffEntry,
  type BackOffLimits,
  type CrashLoopOptions,
  backOffLimits,
  backOffRemaining,
  crashLoopKey,
  crashLoopLimits,
  formatWait,
  isLetThrough,
  lengthenBackOff,
} from './back-off.ts';
export { containerHash } from './container-hash.ts';
export {
  type ContainerKind,
  type NamedContainer,
  containerFieldPath,
  containersOf,
  findContainer,
  isSidecar,
} from './container-kind.ts';
export { type ImageDecision, type WantedImage, imageDecision, imageToPull, needsLook } from './image.ts';
export { initSucceeded } from './init-actions.ts';
export { type KillPlanInput, type PlannedStop, graceLeftMs, killPlan, stopTimeout } from './kill-plan.ts';
export { leftovers } from './leftovers.ts';
export { networkNotReady } from './network-not-ready.ts';
export { podActions } from './pod-actions.ts';
export { type ProbeResult, type ProbeResults, noProbeResults } from './probe-results.ts';
export { type RestartAll, restartAll } from './restart-all.ts';
export { type RestartDecision, isSet, restartDecision, restartsAfter } from './restart.ts';
export { mayRun, nanosToMs, newestContainer } from './runtime-view.ts';
export { type SandboxDecision, sandboxDecision } from './sandbox-decision.ts';
export { type StaticOrder, emptyStaticOrder, leaveStaticOrder, mayStartStatic } from './static-order.ts';
export { type StopAnnotations, readStopAnnotations } from './stop-annotations.ts';
export { unsupportedFields } from './unsupported.ts';
export {
  type WorkerAnswers,
  type WorkerInput,
  type WorkerMachine,
  gracePeriod,
  initialMachine,
  killTimeoutMs,
  stepWorker,
  workerAnswers,
} from './worker-state.ts';
