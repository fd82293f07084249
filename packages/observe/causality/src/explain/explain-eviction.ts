import type { StoredMessage } from '@kubus/bus';
import {
  type EvictionDecision,
  type RankedPod,
  type Reclaimed,
  bareType,
  evictPod,
  keyOf,
  typeOf,
} from '@kubus/contracts';
import { recordedMessage } from '../recorded-message.ts';
import { payloadOf } from '../summary.ts';
import { amount } from './amount.ts';

const EVICT = bareType(typeOf(evictPod));

/** The reasons that the last request to evict a pod gave; undefined: the record has none. */
export function decisionIn(messages: readonly StoredMessage[], uid: string): EvictionDecision | undefined {
  const isRequest = ({ message }: StoredMessage) =>
    bareType(recordedMessage(message)?.envelope.type ?? '') === EVICT && keyOf(message.subject) === uid;
  const asked = messages.findLast(isRequest);
  const request = asked && evictPod.request.safeParse(payloadOf(asked.message));
  return request?.success === true ? request.data.decision : undefined;
}

const REMOVED = { containers: 'ended containers', images: 'unused images' } as const;

/** Why it was this pod and no other, in sentences: what was short, what was removed before, and how it compares with the next one. */
export function whyThisPod(decision: EvictionDecision, uid: string): string {
  const { signal, threshold, available, readAt, reclaimed, ranking } = decision;
  const evictable = ranking.pods.filter(({ critical }) => !critical);
  const own = evictable.find(({ ref }) => ref.uid === uid);
  const short = `${signal} was ${amount(signal, available)} at ${readAt.slice(11, 19)}, its threshold is ${threshold}`;
  const before = reclaimed.length === 0 ? '' : ` ${removedBefore(signal, reclaimed)}`;
  if (own === undefined) return `${short}.${before}`;
  const later = evictable.slice(evictable.indexOf(own) + 1);
  const next = later[0];
  const count = evictable.length + ranking.leftOut;
  const who =
    count === 1
      ? 'It was the only pod that could go'
      : `It was ${place(evictable.indexOf(own))} of ${count} pods that could go`;
  const compared =
    next === undefined ? '' : `; next was ${next.ref.namespace}/${next.ref.name}, which ${numbers(signal, next)}`;
  return `${short}.${before} ${who}: it ${numbers(signal, own)}${compared}.`;
}

/** What was removed before any pod, and what that has freed as it was measured. */
function removedBefore(signal: string, reclaimed: readonly Reclaimed[]): string {
  const removed = reclaimed.map(({ what, before, after }) => {
    const freed = before === undefined || after === undefined ? undefined : Math.max(0, after - before);
    return `${REMOVED[what]}${freed === undefined ? '' : ` (${freed === 0 ? 'which freed nothing' : amount(signal, freed)})`}`;
  });
  return `Before, ${removed.join(' and ')} were removed, which was not enough.`;
}

const place = (index: number): string => (index === 0 ? 'the first' : `number ${index + 1}`);

function numbers(signal: string, { exceeds, priority, used, requested }: RankedPod): string {
  const uses = used === undefined ? 'has an unknown use' : `uses ${amount(signal, used)}`;
  const of = requested === 0 && !exceeds ? '' : ` with ${amount(signal, requested)} requested`;
  return `${uses}${of} at priority ${priority}`;
}
