import type { Container, Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import type { ContainerStart, ContainerStop, PodActionsOptions, StopReason } from './actions.ts';
import { isSidecar } from './container-kind.ts';
import { definitionChanged, startAfterStop, startOf } from './container-starts.ts';
import { restartsAfter } from './restart.ts';

/** The actions for the init containers of a pod. */
export interface InitActions {
  /** The regular containers may run. */
  readonly initialized: boolean;
  /** An init container failed permanently, so the pod ends. */
  readonly failed: boolean;
  readonly stop: readonly ContainerStop[];
  /** In the order of the spec. */
  readonly start: readonly ContainerStart[];
}

/** The consequence of one init container for those after it. */
type Verdict =
  /** The next one may start. `wants` is the action for this one. */
  | { readonly kind: 'done'; readonly wants: Want | undefined }
  | { readonly kind: 'notDone'; readonly wants: Want | undefined }
  | { readonly kind: 'failed' };

/** Start the container; stop its current run first where a reason is given. */
interface Want {
  readonly stop: { readonly message: string; readonly reason: StopReason } | undefined;
}

/** The container has ended and has to be started again, or was created and not started. */
const START: Want = { stop: undefined };

/**
 * Decides what to do with the init containers of a sandbox (behaviour:container-actions, init order).
 *
 * The newest one that the runtime lists determines the progress of the pod, because earlier ones may have been removed; all
 * sidecars before it are kept running. Once a regular container was created in this sandbox, the pod counts as initialized
 * from then on. Runs in earlier sandboxes do not count: a new sandbox starts with the first init container.
 */
export function initActions(
  pod: Pod,
  runtime: RuntimePod | undefined,
  sandbox: RuntimeSandbox,
  options: PodActionsOptions,
): InitActions {
  const containers = pod.spec.initContainers ?? [];
  const here = (name: string): RuntimeContainer | undefined =>
    runtime?.containers.find((one) => one.name === name && one.sandboxId === sandbox.id);
  const initializedBefore = containers.length === 0 || pod.spec.containers.some(({ name }) => here(name) !== undefined);
  const newest = containers.findLastIndex(({ name }) => here(name) !== undefined);

  const stop: ContainerStop[] = [];
  const start: ContainerStart[] = [];
  const startAt = (index: number, want: Want): void => {
    const container = containers[index];
    if (container === undefined) return;
    const named = { kind: isSidecar(container) ? ('sidecar' as const) : ('init' as const), container };
    const run = here(container.name);
    if (want.stop !== undefined && run !== undefined) {
      stop.push({ container: run, ...want.stop });
      start.push(startAfterStop(named, run, runtime));
    } else {
      start.push(startOf(named, runtime, sandbox, options));
    }
  };

  let initialized = initializedBefore;
  for (const [index, container] of containers.entries()) {
    const known = here(container.name);
    // After initialization, and before the newest listed one, only sidecars are kept running.
    if (!isSidecar(container) && (initializedBefore || index !== newest)) continue;
    if (index > newest && !initializedBefore) break;
    const verdict: Verdict =
      known === undefined ? { kind: 'notDone', wants: START } : judge(pod, container, known, options);
    if (verdict.kind === 'failed') return { initialized: false, failed: true, stop: [], start: [] };
    if (verdict.wants !== undefined) startAt(index, verdict.wants);
    if (initializedBefore || index !== newest || verdict.kind !== 'done') continue;
    if (index === containers.length - 1) initialized = true;
    else startAt(index + 1, START);
  }
  if (!initializedBefore && newest === -1) startAt(0, START);
  return { initialized, failed: false, stop, start };
}

function judge(pod: Pod, container: Container, run: RuntimeContainer, options: PodActionsOptions): Verdict {
  return isSidecar(container) ? judgeSidecar(container, run, options) : judgeInit(pod, container, run);
}

function judgeInit(pod: Pod, container: Container, run: RuntimeContainer): Verdict {
  switch (run.state) {
    case 'created':
      return { kind: 'notDone', wants: START };
    case 'running':
      return { kind: 'notDone', wants: undefined };
    case 'exited': {
      if (initSucceeded(run)) return { kind: 'done', wants: undefined };
      // A container that was OOM-killed has failed, whatever its exit code.
      const again = restartsAfter(pod, container, run.exitCode === 0 ? 137 : run.exitCode);
      return again ? { kind: 'notDone', wants: START } : { kind: 'failed' };
    }
    default:
      if (!restartsAfter(pod, container, 137)) return { kind: 'failed' };
      return { kind: 'notDone', wants: { stop: unknownState() } };
  }
}

function judgeSidecar(container: Container, run: RuntimeContainer, options: PodActionsOptions): Verdict {
  const { name } = container;
  switch (run.state) {
    case 'created':
    case 'exited':
      return { kind: 'notDone', wants: START };
    case 'running':
      break;
    default:
      return { kind: 'notDone', wants: { stop: unknownState() } };
  }
  if (container.startupProbe !== undefined) {
    const startup = options.probes?.startup.get(run.id);
    if (startup === 'failure') {
      const stop = { message: `Init container ${name} failed startup probe`, reason: 'startupProbe' as const };
      return { kind: 'notDone', wants: { stop } };
    }
    if (startup !== 'success') return { kind: 'notDone', wants: undefined };
  }
  // It has started: those after it may start even while this run is replaced.
  return { kind: 'done', wants: replaceSidecar(container, run, options) };
}

function replaceSidecar(container: Container, run: RuntimeContainer, options: PodActionsOptions): Want | undefined {
  const { name } = container;
  if (definitionChanged(container, run)) {
    return { stop: { message: `Init container ${name} definition changed`, reason: 'other' } };
  }
  if (options.probes?.liveness.get(run.id) === 'failure') {
    return { stop: { message: `Init container ${name} failed liveness probe`, reason: 'livenessProbe' } };
  }
  if (options.resizeRestarts?.has(run.id) === true) {
    return { stop: { message: `Container ${name} resize requires restart`, reason: 'other' } };
  }
  return undefined;
}

/** A plain init container has succeeded: it exited with 0 and was not OOM-killed. */
export function initSucceeded(run: Pick<RuntimeContainer, 'state' | 'exitCode' | 'reason'>): boolean {
  return run.state === 'exited' && run.exitCode === 0 && run.reason !== 'OOMKilled';
}

function unknownState(): { message: string; reason: StopReason } {
  return { message: 'Init container is in "unknown" state, try killing it before restart', reason: 'other' };
}
