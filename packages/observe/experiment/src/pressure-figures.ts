import type { RecordedMessage } from '@kubus/causality';
import { bareType, podWork, podWorkSchema, typeOf } from '@kubus/contracts';
import { recordedContainers } from './pod-record.ts';

/** How a pod has ended under pressure. */
interface PodEnding {
  readonly evicted: boolean;
  /** How many of its containers the kernel has killed for lack of memory before anything else ended them. */
  readonly oomKilled: number;
}

const works = bareType(typeOf(podWork));

/**
 * How a pod has ended, from all its messages in the record. Lack of memory within the limit of all pods is told of each of their
 * cgroups, so that of an evicted pod nothing says whether the kernel was first: its containers do not count.
 */
export function podEnding(messages: readonly RecordedMessage[]): PodEnding {
  const work = messages
    .filter(({ envelope, message }) => bareType(envelope.type) === works && message.data !== '')
    .flatMap(({ message, at }) => ({ at, work: podWorkSchema.parse(JSON.parse(message.data)).work }));
  const evicted = work.some((one) => one.work === 'evict');
  const ending = work.find((one) => one.work !== 'sync')?.at ?? Number.POSITIVE_INFINITY;
  const killed = recordedContainers(messages).filter(
    ({ reason, finishedAt }) => reason === 'OOMKilled' && Number(finishedAt) / 1e6 < ending,
  );
  return { evicted, oomKilled: evicted ? 0 : killed.length };
}
