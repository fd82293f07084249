import type { StoredMessage } from '@kubus/bus';
import { type RuntimePod, runtimePodSchema } from '@kubus/contracts';
import type { ContainerRuns, LabelledRuns } from '@kubus/harness';

/** One run of a container or sandbox, from containerd's event log. */
export interface Run extends ContainerRuns {
  readonly podUid: string;
  readonly pod: string;
  /** Undefined for a sandbox. */
  readonly container: string | undefined;
}

/** Every run with its pod, in the order of their starts. */
export function runsOf(labelled: readonly LabelledRuns[]): Run[] {
  return labelled.map(({ labels, ...run }) => ({
    ...run,
    podUid: labels['io.kubernetes.pod.uid'] ?? 'unknown',
    pod: labels['io.kubernetes.pod.name'] ?? 'unknown',
    container: labels['io.kubernetes.container.name'],
  }));
}

/** A pod as cri-bridge published it. */
interface RecordedPod {
  /** When the broker stored it, in milliseconds since the Unix epoch. */
  readonly stored: number;
  readonly pod: RuntimePod;
}

/** What a node has recorded of the runtime, in the order of storing. */
export function recordedPods(recorded: readonly StoredMessage[]): RecordedPod[] {
  return recorded.flatMap(({ stored, message }) => {
    if (!message.subject.includes('.runtime.fact.pod.') || message.data === '') return [];
    const { data: pod } = runtimePodSchema.safeParse(JSON.parse(message.data));
    return pod === undefined ? [] : [{ stored, pod }];
  });
}

/**
 * The runs with their ends: a container that ends while containerd is down has no event of it, but the runtime's later state has its end.
 *
 * @param pods what the node has recorded of the runtime
 */
export function withEnds(runs: readonly Run[], pods: readonly RecordedPod[]): Run[] {
  const ends = new Map<string, number>();
  for (const { pod } of pods) {
    for (const { id, state, finishedAt } of pod.containers) {
      if (state === 'exited') ends.set(id, Number(BigInt(finishedAt) / 1_000_000n));
    }
  }
  return runs.map((run) => ({ ...run, exitedAt: run.exitedAt ?? ends.get(run.id) }));
}

/**
 * The sandboxes that containerd reported as not ready before they ended. Version 1.6 does so on an overloaded machine: when it starts a
 * container and the pod's shim does not answer within 100 ms, a second shim takes the place of the first, and after containerd's next
 * start nobody knows the sandbox. The pod gets another one, and its containers start again.
 *
 * @param pods what the node has recorded of the runtime
 */
export function lostSandboxes(runs: readonly Run[], pods: readonly RecordedPod[]): Run[] {
  const notReady = new Map<string, number>();
  for (const { stored, pod } of pods) {
    for (const { id, ready } of pod.sandboxes) if (!ready && !notReady.has(id)) notReady.set(id, stored);
  }
  return runs.filter(
    ({ id, container, exitedAt = 0 }) => container === undefined && (notReady.get(id) ?? Infinity) < exitedAt,
  );
}

export interface ExpectedStarts {
  /** How many runs a container must have had; undefined for as many as its back-off allows. */
  readonly runs: number | undefined;
  /** How many of them may have been repeated. */
  readonly repeated?: number;
}

/** How long after a container's end containerd may not have stored it yet, in milliseconds. */
const LOST_END_MS = 1_000;

/**
 * The runs whose end containerd may have lost when it was killed: it deletes the task of a container that has ended before it
 * stores how, and reports an unknown exit (code 255) afterwards.
 *
 * @param kills when containerd was killed, milliseconds since the Unix epoch.
 */
export function lostEnds(runs: readonly Run[], kills: readonly number[]): Run[] {
  return runs.filter(({ exitedAt = Infinity }) => kills.some((at) => exitedAt <= at && at < exitedAt + LOST_END_MS));
}

/** The first restart is immediate; later delays double from here, in milliseconds (behaviour:container-actions). */
const FIRST_BACK_OFF_MS = 10_000;
/** The wait counts from the end that the runtime has stored; its event comes a little later, in milliseconds. */
const EVENT_DELAY_MS = 500;

/**
 * Errors in the starts of one node, one line each: a second start of the same container, more containers or
 * sandboxes than there should be, two at the same time, a restart before its time.
 *
 * @param expected what a pod (by the name in its manifest) and its container should have had.
 * @param lost sandboxes that had to be replaced ({@link lostSandboxes})
 */
export function startFaults(
  runs: readonly Run[],
  expected: (pod: string, container: string) => ExpectedStarts | undefined,
  lost: readonly Run[],
): string[] {
  const faults: string[] = [];
  for (const { id, starts, pod, container } of runs) {
    if (starts !== 1) faults.push(`${pod}/${container ?? 'sandbox'} ${id} was started ${starts} times`);
  }
  for (const [key, group] of groupBy(runs, ({ podUid, container }) => `${podUid} ${container ?? ''}`)) {
    const [first] = group;
    if (first === undefined) continue;
    const { pod, container } = first;
    if (container === undefined) {
      const replaced = group.filter(({ id }) => lost.some((one) => one.id === id));
      if (group.length > 1 + replaced.length) faults.push(`${pod} had ${group.length} sandboxes`);
      continue;
    }
    const wanted = expected(pod, container);
    if (wanted === undefined) faults.push(`unexpected container ${pod}/${container} (${key})`);
    else if (
      wanted.runs !== undefined &&
      (group.length < wanted.runs || group.length > wanted.runs + (wanted.repeated ?? 0))
    ) {
      faults.push(`${pod}/${container} was started ${group.length} times instead of ${wanted.runs}`);
    }
    faults.push(...orderFaults(group, wanted?.runs === undefined));
  }
  return faults;
}

function orderFaults(group: readonly Run[], backsOff: boolean): string[] {
  return group.flatMap((run, index) => {
    const before = group[index - 1];
    if (before === undefined) return [];
    const what = `run ${index + 1} of ${run.pod}/${run.container ?? ''}`;
    if (before.exitedAt === undefined || before.exitedAt > run.startedAt)
      return [`${what} began before the last ended`];
    const wait = index === 1 ? 0 : FIRST_BACK_OFF_MS * 2 ** (index - 2);
    const waited = run.startedAt - before.exitedAt;
    return backsOff && waited < wait - EVENT_DELAY_MS ? [`${what} began after ${waited} ms instead of ${wait}`] : [];
  });
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}
