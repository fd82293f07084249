import { HEADER, type StoredMessage } from '@kubus/bus';
import {
  type FactDeclaration,
  bareType,
  keyOf,
  podStatus,
  podVolumes,
  podWork,
  podWorker,
  typeOf,
} from '@kubus/contracts';
import { recordedMessage } from '../recorded-message.ts';
import { newestEvents } from '../recorded-events.ts';
import { payloadOf } from '../summary.ts';
import { decisionIn } from './explain-eviction.ts';
import type { WhyInput } from './explain.ts';

/** What a record says of a pod; undefined when it does not contain what sync-loop had to do with it. */
export function recordedPod(messages: readonly StoredMessage[]): Omit<WhyInput, 'nodeProblems' | 'now'> | undefined {
  const work = lastOf(messages, podWork);
  if (work.value === undefined) return undefined;
  return {
    work: work.value,
    isGone: work.isRemoved,
    status: lastOf(messages, podStatus).value?.status,
    worker: lastOf(messages, podWorker).value,
    volumes: lastOf(messages, podVolumes).value,
    events: newestEvents(messages),
    decision: decisionIn(messages, work.value.ref.uid),
  };
}

/** The last value of a fact, and whether the fact was removed after it. */
export function lastOf<T>(
  messages: readonly StoredMessage[],
  fact: FactDeclaration<T>,
): { value: T | undefined; isRemoved: boolean } {
  const type = bareType(typeOf(fact));
  // Completion marks have no key.
  const all = messages.filter(({ message }) => {
    const said = recordedMessage(message)?.envelope.type ?? '';
    return bareType(said) === type && !keyOf(message.subject).startsWith('=');
  });
  const isRemoved = all.at(-1)?.message.headers[HEADER.removed] !== undefined;
  for (const { message } of all.toReversed()) {
    if (message.headers[HEADER.removed] !== undefined) continue;
    const parsed = fact.payload.safeParse(payloadOf(message));
    if (parsed.success) return { value: parsed.data, isRemoved };
  }
  return { value: undefined, isRemoved };
}
