import type { StoredMessage } from '@kubus/bus';
import {
  type ComparedStories,
  type TopologyFacts,
  briefOf,
  payloadOf,
  podTimeline,
  topologyDocument,
  topologyFactsAt,
} from '@kubus/causality';
import type {
  MessageBrief,
  MessageDocument,
  MessagePage,
  PodTimeline,
  TopologyDocument,
} from '@kubus/contracts/observatory';
import type { MessageFilter, RecordingReader } from '@kubus/recording';
import { RequestError } from './recordings.ts';

/** How many starts of other pods one is compared with. */
const COMPARED_STARTS = 100;

/** How many effects of one message are shown. */
const MAX_EFFECTS = 1_000;

export function pageOf(reader: RecordingReader, filter: MessageFilter, limit: number): MessagePage {
  const found = reader.messages(filter, limit);
  const last = found.at(-1);
  return {
    messages: briefsOf(found),
    ...(found.length === limit && last !== undefined && { next: last.seq }),
  };
}

export function messageOf(reader: RecordingReader, seq: number): MessageDocument {
  const stored = reader.message(seq);
  if (stored === undefined) throw new RequestError(404, 'no-message', `there is no message ${seq} in the recording`);
  const { message } = stored;
  const brief = briefOf(stored);
  if (brief === undefined) throw new RequestError(409, 'unreadable', `message ${seq} has no readable envelope`);
  const causes = brief.causes.map((id) => reader.messageById(id)).filter((cause) => cause !== undefined);
  return {
    ...brief,
    headers: message.headers,
    payload: payloadOf(message) ?? null,
    causedBy: briefsOf(causes),
    caused: briefsOf(reader.effects(seq, MAX_EFFECTS)),
  };
}

export function timelineOf(reader: RecordingReader, uid: string): PodTimeline {
  const messages = reader.podMessages(uid);
  if (messages.length === 0) throw new RequestError(404, 'no-pod', `there is no message about the pod ${uid}`);
  return podTimeline(uid, messages, reader.starts(COMPARED_STARTS, uid));
}

/** The machine at a moment, and who has what of it. */
export function topologyOf(
  reader: RecordingReader,
  { at, now }: { readonly at: number | undefined; readonly now: TopologyFacts | undefined },
): TopologyDocument {
  const pods = new Map(reader.pods().map(({ uid, namespace, name }) => [uid, `${namespace}/${name}`]));
  const document = topologyDocument(
    topologyFactsAt((type) => reader.all({ type }), at, now),
    pods,
  );
  if (document !== undefined) return document;
  throw new RequestError(404, 'no-topology', 'the recording does not say up to this moment what the machine is like');
}

/** One side of a comparison: all pods, or one of them. */
export function sideOf(
  reader: RecordingReader,
  what: 'start' | 'stop',
  recording: string,
  uid: string | undefined,
): ComparedStories {
  if (uid === undefined) return { recording, pods: reader.paths(what) };
  const timeline = timelineOf(reader, uid);
  return { recording, pod: timeline.pod, pods: [timeline] };
}

function briefsOf(messages: readonly StoredMessage[]): MessageBrief[] {
  return messages.map(briefOf).filter((brief) => brief !== undefined);
}
