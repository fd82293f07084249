import type { ContainerStatus, Pod, PodCondition, PodStatus, RuntimePod } from '@kubus/contracts';
import { sandboxDecision } from '@kubus/pod-lifecycle';
import { type PodPhase, isTerminal } from './phase.ts';

interface Judgement {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason?: string;
  readonly message?: string;
}

/** The conditions that the node owns, in the reference's order (kubelet behaviour 1.12). */
export function podConditions(input: {
  pod: Pod;
  runtime: RuntimePod | undefined;
  statuses: readonly ContainerStatus[];
  phase: PodPhase;
  previous: PodStatus | undefined;
  /** RFC 3339, whole seconds. */
  now: string;
}): PodCondition[] {
  const { pod, runtime, statuses, phase, previous, now } = input;
  const containersReady = judgeContainers(pod, statuses, phase);
  const judgements: Judgement[] = [
    judgeSandbox(pod, runtime, phase),
    phase === 'Succeeded'
      ? { type: 'Initialized', status: 'True', reason: 'PodCompleted' }
      : { type: 'Initialized', status: 'True' },
    judgeReady(pod, previous, containersReady),
    containersReady,
    { type: 'PodScheduled', status: 'True' },
  ];
  const own = judgements.map((judgement): PodCondition => {
    const before = previous?.conditions?.find(({ type }) => type === judgement.type);
    return {
      ...judgement,
      lastTransitionTime: before?.status === judgement.status ? (before.lastTransitionTime ?? now) : now,
      ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    };
  });
  const foreign = (pod.status?.conditions ?? []).filter(({ type }) => !own.some((one) => one.type === type));
  return [...own, ...foreign];
}

function judgeSandbox(pod: Pod, runtime: RuntimePod | undefined, phase: PodPhase): Judgement {
  const serves = !isTerminal(phase) && sandboxDecision(pod, runtime).kind === 'keep';
  return { type: 'PodReadyToStartContainers', status: serves ? 'True' : 'False' };
}

function judgeContainers(pod: Pod, statuses: readonly ContainerStatus[], phase: PodPhase): Judgement {
  const type = 'ContainersReady';
  const names = pod.spec.containers.map(({ name }) => name);
  const unknown = names.filter((name) => !statuses.some((status) => status.name === name));
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  const unready = names.filter((name) => statuses.some((status) => status.name === name && !status.ready));
  if (unknown.length === 0 && unready.length === 0) return { type, status: 'True' };
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`containers with unknown status: [${unknown.join(' ')}]`);
  if (unready.length > 0) parts.push(`containers with unready status: [${unready.join(' ')}]`);
  return { type, status: 'False', reason: 'ContainersNotReady', message: parts.join(', ') };
}

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
