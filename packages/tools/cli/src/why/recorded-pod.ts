import { HEADER, type StoredMessage } from '@kubus/bus';
import { payloadOf } from '@kubus/causality';
import {
  type FactDeclaration,
  keyOf,
  podStatus,
  podVolumes,
  podWork,
  podWorker,
  patternOf,
  subjectMatches,
} from '@kubus/contracts';
import { newestEvents } from '../pods/recorded-events.ts';
import type { WhyInput } from './explain.ts';

/** What a record says of a pod; undefined when it does not contain what sync-loop had to do with it. */
export function recordedPod(
  messages: readonly StoredMessage[],
  node: string,
): Omit<WhyInput, 'nodeProblems' | 'now'> | undefined {
  const work = lastOf(messages, node, podWork);
  if (work.value === undefined) return undefined;
  return {
    work: work.value,
    isGone: work.isRemoved,
    status: lastOf(messages, node, podStatus).value?.status,
    worker: lastOf(messages, node, podWorker).value,
    volumes: lastOf(messages, node, podVolumes).value,
    events: newestEvents(messages),
  };
}

/** The last value of a fact, and whether the fact was removed after it. */
function lastOf<T>(
  messages: readonly StoredMessage[],
  node: string,
  fact: FactDeclaration<T>,
): { value: T | undefined; isRemoved: boolean } {
  const pattern = patternOf(node, fact);
  // Completion marks have no key.
  const all = messages.filter(
    ({ message: { subject } }) => subjectMatches(pattern, subject) && !keyOf(subject).startsWith('='),
  );
  const isRemoved = all.at(-1)?.message.headers[HEADER.removed] !== undefined;
  for (const { message } of all.toReversed()) {
    if (message.headers[HEADER.removed] !== undefined) continue;
    const parsed = fact.payload.safeParse(payloadOf(message));
    if (parsed.success) return { value: parsed.data, isRemoved };
  }
  return { value: undefined, isRemoved };
}
