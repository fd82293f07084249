import { podRefSchema } from '@kubus/contracts';
import type { MessageBrief } from '@kubus/contracts/observatory';
import { type ReadMessage, readMessage } from './brief.ts';
import { MessageIndex } from './message-index.ts';
import type { StoredMessage } from '@kubus/bus';
import { textAt, valueAt } from './summary.ts';

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** A message with its span on a timeline: from the start of work on its cause to its publication. */
export interface TimedMessage extends ReadMessage {
  readonly from: number;
  /** The name of its pod, as soon as some message contains it. */
  readonly podName: PodName | undefined;
  readonly containerId: string | undefined;
}

/**
 * Each message once, in the order of the broker, as what exports draw. `from` is when the publisher started to work on
 * its first cause, or had received it; a message without a cause of another service takes no time.
 */
export function* timedMessages(messages: Iterable<StoredMessage>): Generator<TimedMessage> {
  const names = new Map<string, PodName>();
  const seen = new MessageIndex<true>();
  for (const stored of messages) {
    const read = readMessage(stored);
    if (read === undefined || seen.get(read.brief.id) === true) continue;
    seen.set(read.brief.id, true);
    const { brief, payload } = read;
    learn(names, payload);
    yield {
      ...read,
      from: beginning(brief),
      podName: brief.pod === undefined ? undefined : names.get(brief.pod),
      containerId: containerPaths.map((path) => textAt(payload, path)).find((id) => id !== undefined && id !== ''),
    };
  }
}

/**
 * Where a payload names the container that it is about: calls of the runtime, their results, events of the runtime and
 * the network.
 */
const containerPaths = ['params.containerId', 'response.containerId', 'containerId'];

function beginning({ heard, began, at }: MessageBrief): number {
  return Math.min(began ?? heard ?? at, at);
}

function learn(names: Map<string, PodName>, payload: unknown): void {
  for (const path of ['ref', 'pod.metadata']) {
    const { data } = podRefSchema.safeParse(valueAt(payload, path));
    if (data !== undefined && !names.has(data.uid)) names.set(data.uid, { namespace: data.namespace, name: data.name });
  }
}
