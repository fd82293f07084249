import type { ContainerStatus, Pod, PodCondition, PodStatus } from '@kubus/contracts';
import { isSidecar, sandboxDecision } from '@kubus/pod-lifecycle';
import type { PodStatusInput, ResizeCondition } from './input.ts';
import type { PodPhase } from './phase.ts';

interface Judgement {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** Conditions that only the node sets. Those that it currently does not set are removed; all other conditions are kept. */
export const OWNED_CONDITIONS: readonly string[] = [
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
  'PodResizePending',
  'PodResizeInProgress',
];

export const RESTARTING = 'AllContainersRestarting';
/** A condition that the node sets, as do other components. */
export const DISRUPTION = 'DisruptionTarget';

export interface ConditionsInput extends Pick<
  PodStatusInput,
  'pod' | 'runtime' | 'previous' | 'resize' | 'disruption'
> {
  readonly init: readonly ContainerStatus[];
  readonly regular: readonly ContainerStatus[];
  readonly phase: PodPhase;
  /** The value of the condition AllContainersRestarting; undefined: the pod has none. */
  readonly restartingAll: boolean | undefined;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/** All conditions of a pod: those of the node first, then those of others (behaviour:pod-status). */
export function podConditions(input: ConditionsInput): PodCondition[] {
  const { pod, previous, restartingAll, resize, disruption, now } = input;
  const containersReady = judgeContainers(input);
  const judgements: Judgement[] = [
    judgeSandbox(input),
    judgeInitialized(input),
    judgeReady(pod, previous, containersReady),
    containersReady,
    { type: 'PodScheduled', status: 'True' },
    ...(restartingAll === undefined ? [] : [{ type: RESTARTING, status: restartingAll ? 'True' : 'False' }]),
    ...(disruption === undefined ? [] : [{ type: DISRUPTION, status: 'True', ...disruption }]),
  ];
  const own = [
    ...judgements.map((judgement) => dated(judgement, pod, previous, now)),
    ...(resize ?? []).map((condition) => datedResize(condition, previous, now)),
  ];
  const kept = previous?.conditions?.filter(({ type }) => type === DISRUPTION) ?? [];
  const foreign = (pod.status?.conditions ?? []).filter(({ type }) => !OWNED_CONDITIONS.includes(type));
  const rest = [...kept, ...foreign].filter(
    ({ type }, index, all) =>
      !own.some((one) => one.type === type) && all.findIndex((one) => one.type === type) === index,
  );
  return [...own, ...rest];
}

/** The time of a condition is that of its last change of status, not of its reason. */
function dated(
  { reason, message, ...judgement }: Judgement,
  { metadata, status }: Pod,
  previous: PodStatus | undefined,
  now: string,
): PodCondition {
  const before = (previous ?? status)?.conditions?.find(({ type }) => type === judgement.type);
  return {
    ...judgement,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    lastTransitionTime: before?.status === judgement.status ? (before.lastTransitionTime ?? now) : now,
    ...((metadata.generation ?? 0) > 0 && { observedGeneration: metadata.generation }),
  };
}

/** A resize starts again with another reason, and belongs to the change of the pod that requested it. */
function datedResize(
  { generation = 0, ...condition }: ResizeCondition,
  previous: PodStatus | undefined,
  now: string,
): PodCondition {
  const before = previous?.conditions?.find(({ type }) => type === condition.type);
  const same = before !== undefined && before.reason === condition.reason;
  return {
    ...condition,
    lastTransitionTime: same ? (before.lastTransitionTime ?? now) : now,
    ...(generation > 0 && { observedGeneration: generation }),
  };
}

function judgeSandbox({ pod, runtime }: ConditionsInput): Judgement {
  const serves = sandboxDecision(pod, runtime).kind === 'keep';
  return { type: 'PodReadyToStartContainers', status: serves ? 'True' : 'False' };
}

function judgeInitialized({ pod, init, regular, phase }: ConditionsInput): Judgement {
  const type = 'Initialized';
  const unknown: string[] = [];
  const incomplete: string[] = [];
  for (const container of pod.spec.initContainers ?? []) {
    const status = init.find(({ name }) => name === container.name);
    const done = isSidecar(container) ? status?.started === true : status?.ready === true;
    if (status === undefined) unknown.push(container.name);
    else if (!done) incomplete.push(container.name);
  }
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'True', reason: 'PodCompleted' };
  // The pod stays initialized when sidecars are restarted.
  if (regular.some(hasStarted) || unknown.length + incomplete.length === 0) return { type, status: 'True' };
  const message = listed(['unknown', unknown], ['incomplete', incomplete]);
  return { type, status: 'False', reason: 'ContainersNotInitialized', message };
}

function hasStarted({ state, lastState }: ContainerStatus): boolean {
  return state?.running !== undefined || state?.terminated !== undefined || lastState?.terminated !== undefined;
}

/** Sidecars count in the same way as regular containers. */
function judgeContainers({ pod, init, regular, phase }: ConditionsInput): Judgement {
  const type = 'ContainersReady';
  const statuses = [...init, ...regular];
  const names = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers].map(({ name }) => name);
  const unknown = names.filter((name) => !statuses.some((status) => status.name === name));
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  const unready = names.filter((name) => statuses.some((status) => status.name === name && !status.ready));
  if (unknown.length + unready.length === 0) return { type, status: 'True' };
  const message = listed(['unknown', unknown], ['unready', unready]);
  return { type, status: 'False', reason: 'ContainersNotReady', message };
}

function listed(...groups: [string, string[]][]): string {
  return groups
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `containers with ${what} status: [${names.join(' ')}]`)
    .join(', ');
}

/** A pod is ready when its containers are ready and all its readiness gates are true (KEP-580). */
function judgeReady(pod: Pod, previous: PodStatus | undefined, containersReady: Judgement): Judgement {
  const type = 'Ready';
  if (containersReady.status === 'False') return { ...containersReady, type };
  const known = [...(pod.status?.conditions ?? []), ...(previous?.conditions ?? [])];
  const messages = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = known.find((condition) => condition.type === conditionType);
    if (gate === undefined) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    if (gate.status === 'True') return [];
    return [`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`];
  });
  if (messages.length === 0) return { type, status: 'True' };
  return { type, status: 'False', reason: 'ReadinessGatesNotReady', message: messages.join(', ') };
}
