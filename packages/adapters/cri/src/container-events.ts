import { type Clock, type Ids, type Logger, sleep } from '@kubus/ports';
import type { VersionResponse } from '@kubus/proto/cri';
import { criCodecs } from '@kubus/proto/cri-grpc';
import type { Channel } from './channel.ts';
import { CriError } from './errors.ts';
import { type ContainerHint, type EventSource, type Source, sourcesOf } from './event-sources.ts';

export type EventsState =
  /** Hints arrive from this point on; earlier changes may have been missed. */
  | { readonly state: 'streaming'; readonly source: EventSource }
  /** No hints until the next `streaming`. */
  | { readonly state: 'lost'; readonly error: CriError }
  /** The runtime has no stream of events; relisting is the only source. */
  | { readonly state: 'none' };

export interface ContainerEventsListener {
  onHint(hint: ContainerHint): void;
  onState(state: EventsState): void;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 2_000;
const ASK_DEADLINE_MS = 10_000;
/** A runtime without events may be replaced by one that has them. */
const RETRY_NONE_MS = 60_000;

type Options = { clock: Clock; ids: Ids; logger: Logger; signal: AbortSignal };

/** How a stream ended, and whether it had started. */
interface End {
  readonly error: CriError;
  readonly streamed: boolean;
}

/** Follows the first source that the runtime has, again after each loss, until `signal` aborts. */
export async function followContainerEvents(
  channel: Channel,
  listener: ContainerEventsListener,
  { clock, ids, logger, signal }: Options,
): Promise<void> {
  const wanted = () => !signal.aborted;
  let retryMs = FIRST_RETRY_MS;
  let state: EventsState['state'] | undefined;
  const onState = (next: EventsState) => {
    const again = next.state === state && state !== 'streaming';
    if (wanted() && !again) {
      listener.onState(next);
    }
    state = next.state;
  };
  while (wanted()) {
    const end = await followOnce(channel, listener.onHint.bind(listener), onState, signal);
    if (end === undefined) {
      onState({ state: 'none' });
      await sleep(clock, RETRY_NONE_MS, signal);
    } else {
      logger.debug({ err: end.error }, 'the stream of container events failed; trying again');
      onState({ state: 'lost', error: end.error });
      retryMs = end.streamed ? FIRST_RETRY_MS : Math.min(2 * retryMs, LONGEST_RETRY_MS);
      await sleep(clock, retryMs * (0.5 + ids.fraction() / 2), signal);
    }
  }
}

/** Follows the first source that the runtime has until it ends. Returns undefined when it has none. */
async function followOnce(
  channel: Channel,
  onHint: (hint: ContainerHint) => void,
  onState: (state: EventsState) => void,
  signal: AbortSignal,
): Promise<End | undefined> {
  const version = await askVersion(channel, signal);
  if (version instanceof CriError) {
    return { error: version, streamed: false };
  }
  for (const source of sourcesOf(version)) {
    const end = await followSource(channel, source, onHint, onState, signal);
    if (end.error.code !== 'Unimplemented') {
      return end;
    }
  }
  return undefined;
}

async function followSource(
  channel: Channel,
  source: Source,
  onHint: (hint: ContainerHint) => void,
  onState: (state: EventsState) => void,
  signal: AbortSignal,
): Promise<End> {
  const attempt = new AbortController();
  const onMessage = (hint: ContainerHint | undefined) => {
    if (hint !== undefined) {
      onHint(hint);
    }
  };
  const ended = channel.serverStream(
    source.path,
    source.request,
    source.decode,
    { method: source.path.slice(source.path.lastIndexOf('/') + 1) },
    { onMessage, signal: AbortSignal.any([signal, attempt.signal]) },
  );
  // A stream sends nothing before the first event. It was requested before these two questions, on the same connection;
  // when they are answered, it has been accepted or refused. Two, because a runtime handles concurrent requests in
  // parallel, and may answer the first question before it refuses the stream.
  const answered = askVersion(channel, signal).then(() => askVersion(channel, signal));
  const first = await Promise.race([ended, answered]);
  if (first instanceof CriError) {
    attempt.abort();
    return { error: first, streamed: false };
  }
  onState({ state: 'streaming', source: source.name });
  return { error: await ended, streamed: true };
}

/** The runtime's version, or the error why it is unknown. */
async function askVersion(channel: Channel, signal: AbortSignal): Promise<VersionResponse | CriError> {
  const { path, encodeRequest, decodeResponse } = criCodecs.Version;
  const options = { deadlineMs: ASK_DEADLINE_MS, signal };
  try {
    return await channel.unary(path, encodeRequest({}), decodeResponse, { method: 'Version' }, options);
  } catch (error) {
    if (error instanceof CriError) {
      return error;
    }
    throw error;
  }
}
