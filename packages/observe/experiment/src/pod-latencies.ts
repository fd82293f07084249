import type { RecordedMessage } from '@kubus/causality';
import { bareType, desiredPods, podUpdateSchema, typeOf } from '@kubus/contracts';
import { isRemoval, recordedContainers, runtimeMessages } from './pod-record.ts';

/** Latencies of one pod from the record, in milliseconds. */
interface PodLatencies {
  /** From the addition of the pod at its source until its last container was running for the first time. */
  readonly start: number | undefined;
  /** Of each restart of a container: from its exit until the start of its next run. */
  readonly restarts: readonly number[];
  /** From the removal of the pod at its source, or its deletion in the API, until the runtime had nothing left of it. */
  readonly stop: number | undefined;
}

/** The rest of the pod does not matter here. */
const updateSchema = podUpdateSchema.pick({ operation: true });
const desired = Object.values(desiredPods).map((declaration) => bareType(typeOf(declaration)));
const NANOS_PER_MS = 1e6;

/**
 * The latencies of a pod, from all its messages in the record. Start and end of containers are times of the runtime, not of
 * messages, so message faults do not change them.
 */
export function podLatencies(messages: readonly RecordedMessage[]): PodLatencies {
  const ofSources = messages.filter(({ envelope }) => desired.includes(bareType(envelope.type)));
  const wanted = ofSources.find((recorded) => !isRemoval(recorded))?.at;
  const unwanted = (ofSources.find(isDeletion) ?? ofSources.findLast(isRemoval))?.at;
  const runs = runsOf(messages);
  const first = [...runs.values()].map((one) => one[0]?.startedAt ?? 0);
  const started = first.length > 0 && first.every((at) => at > 0) ? Math.max(...first) : undefined;
  const removed = runtimeMessages(messages).findLast(isRemoval)?.at;
  return {
    start: between(wanted, started),
    restarts: [...runs.values()].flatMap(restartsOf),
    stop: between(unwanted, removed),
  };
}

interface ContainerRun {
  /** Milliseconds since the Unix epoch; 0 where it has not happened. */
  startedAt: number;
  finishedAt: number;
}

/** The runs of each container, the first one first: the last state in the record of each. */
function runsOf(messages: readonly RecordedMessage[]): Map<string, ContainerRun[]> {
  const runs = new Map<string, ContainerRun[]>();
  for (const container of recordedContainers(messages)) {
    const { name, startedAt, finishedAt } = container;
    runs.set(name, [
      ...(runs.get(name) ?? []),
      { startedAt: Number(startedAt) / NANOS_PER_MS, finishedAt: Number(finishedAt) / NANOS_PER_MS },
    ]);
  }
  return runs;
}

function restartsOf(runs: readonly ContainerRun[]): number[] {
  return runs.flatMap(({ finishedAt }, index) => {
    const next = runs[index + 1]?.startedAt ?? 0;
    return finishedAt > 0 && next > 0 ? [next - finishedAt] : [];
  });
}

/** The API keeps a pod that is to be deleted until nothing of it runs. */
function isDeletion({ message }: RecordedMessage): boolean {
  if (message.data === '') return false;
  return updateSchema.safeParse(JSON.parse(message.data)).data?.operation === 'DELETE';
}

function between(begin: number | undefined, end: number | undefined): number | undefined {
  return begin === undefined || end === undefined ? undefined : end - begin;
}
