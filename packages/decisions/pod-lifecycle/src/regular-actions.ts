import type { Container, Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import type { ContainerStart, ContainerStop, PodActionsOptions, StopReason } from './actions.ts';
import { definitionChanged, startAfterStop, startOf } from './container-starts.ts';
import { restartDecision, restartsAfterProbe } from './restart.ts';
import { newestContainer } from './runtime-view.ts';

/** The actions for the regular containers of an initialized pod. */
export interface RegularActions {
  /** The number of containers that keep running. */
  readonly kept: number;
  readonly stop: readonly ContainerStop[];
  readonly start: readonly ContainerStart[];
}

/** Why a running container is stopped, and whether it is started again. */
interface Replacement {
  readonly message: string;
  readonly reason: StopReason;
  readonly restart: boolean;
}

/** behaviour:container-actions, "Running container is killed when" and "Regular container restart". */
export function regularActions(
  pod: Pod,
  runtime: RuntimePod | undefined,
  sandbox: RuntimeSandbox,
  options: PodActionsOptions,
): RegularActions {
  const stop: ContainerStop[] = [];
  const start: ContainerStart[] = [];
  let kept = 0;
  for (const container of pod.spec.containers) {
    const named = { kind: 'regular' as const, container };
    const newest = newestContainer(runtime, container.name);
    const replacement = newest === undefined ? undefined : replacementOf(pod, container, newest, options);
    if (newest !== undefined && replacement !== undefined) {
      const { message, reason, restart } = replacement;
      stop.push({ container: newest, message, reason });
      if (restart) start.push(startAfterStop(named, newest, runtime));
    } else if (newest?.state === 'unknown' && restartDecision(pod, container, newest).restart) {
      const message = 'Container is in "unknown" state, try killing it before restart';
      stop.push({ container: newest, message, reason: 'other' });
      start.push(startAfterStop(named, newest, runtime));
    } else if (newest?.state === 'running') {
      kept += 1;
    } else if (restartDecision(pod, container, newest).restart) {
      start.push(startOf(named, runtime, sandbox, options));
    }
  }
  return { kept, stop, start };
}

/** The first reason to stop a running container; after a changed definition it is always started again. */
function replacementOf(
  pod: Pod,
  container: Container,
  run: RuntimeContainer,
  options: PodActionsOptions,
): Replacement | undefined {
  if (run.state !== 'running') return undefined;
  const { name } = container;
  const restart = restartsAfterProbe(pod, container);
  const afterProbe = restart ? ', will be restarted' : '';
  if (definitionChanged(container, run)) {
    return { message: `Container ${name} definition changed, will be restarted`, reason: 'other', restart: true };
  }
  if (options.probes?.liveness.get(run.id) === 'failure') {
    return { message: `Container ${name} failed liveness probe${afterProbe}`, reason: 'livenessProbe', restart };
  }
  if (options.probes?.startup.get(run.id) === 'failure') {
    return { message: `Container ${name} failed startup probe${afterProbe}`, reason: 'startupProbe', restart };
  }
  if (options.resizeRestarts?.has(run.id) === true) {
    return { message: `Container ${name} resize requires restart`, reason: 'other', restart: true };
  }
  return undefined;
}
