import { type AnyCommand, type CommandDeclaration, patternOf, typeOf } from '@kubus/contracts';
import { type Cancel, type Clock, KubusError, type Logger, toError } from '@kubus/ports';
import {
  type Arrived,
  type CommandNumber,
  type CommandStatus,
  type Failure,
  checkToken,
  formatCommandNumber,
} from './command.ts';
import { type Cause, type Envelope, HEADER, checkType, withStartTime } from './envelope.ts';
import { type Payload, payloadOf, valueOf, withPayload } from './payload.ts';
import type { Publisher } from './publisher.ts';
import { type ReceivedCommand, readCommand } from './received-command.ts';
import type { Refusals } from './refusals.ts';
import type { Transport, WireMessage } from './transport.ts';

/** The context of a command for its handler. */
export interface CommandContext<Request> {
  readonly request: Request;
  /** The command's key: a pod's UID where it concerns one. */
  readonly key: string;
  /** The calling instance and its epoch. */
  readonly source: string;
  readonly token: number;
  /** The command, as a cause of its effects. */
  readonly cause: Cause;
  /**
   * To be called right before the effect. False: a fence dropped the command while it was queued, and it must have no effect;
   * its outcome is not awaited. A command that did not start on arrival was queued: from then on
   * {@link cause} contains the time at which it started.
   */
  begin(): boolean;
}

export type CommandHandler<Request, Result> = (context: CommandContext<Request>) => Promise<Result>;

export interface ServeOptions<Request> {
  /**
   * Whether a fenced command may make its sender the owner of a pod that this server has not seen fenced: the term of
   * the ownership, or undefined. Default: never.
   */
  readonly fencesFirst?: (command: Pick<CommandContext<Request>, 'key' | 'request'>) => number | undefined;
}

/** Thrown when the pod has a newer owner. */
class FencedOff extends KubusError {}

/** @internal One accepted command. */
export interface CommandEntry {
  readonly settled: Promise<void>;
  began: boolean;
  dropped: boolean;
  outcome: { status: 'done' | 'failed'; payload: Payload } | undefined;
}

/** @internal The commands of one client that are still open. */
export interface CommandWindow {
  readonly source: string;
  /** For a fenced pod: the term in which its owner owns it. */
  readonly term: number;
  readonly token: number;
  low: number;
  readonly entries: Map<number, CommandEntry>;
}

/**
 * How many windows are kept, with the outcomes of their last commands: more than twice the pods that a node has at most by
 * default. Of those without open commands the one unused for longest is forgotten; its pod, should it still exist, is fenced again.
 */
const WINDOWS = 256;

/** How long a command may run before its client is answered `accepted`, in milliseconds: a result within this time says both. */
const ACCEPTED_MS = 200;

export interface CommandServerOptions {
  readonly node: string;
  /** Epoch of this start of the server: commands for another one are void. */
  readonly epoch: number;
  readonly transport: Transport;
  readonly publisher: Publisher;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The server side of commands: runs each command once, answers `accepted` when it takes longer than {@link ACCEPTED_MS} or
 * `attached` when it arrives again meanwhile, and keeps its result until the client reports that it has read it. Fenced
 * commands run only for the pod's current owner.
 */
export class CommandServer {
  readonly #node: string;
  readonly #epoch: number;
  readonly #transport: Transport;
  readonly #publisher: Publisher;
  readonly #refusals: Refusals;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #windows = new Map<string, CommandWindow>();
  /** By instance: its greatest fencing token of a pod whose window is no longer kept. */
  readonly #forgotten = new Map<string, number>();

  constructor(options: CommandServerOptions) {
    this.#node = options.node;
    this.#epoch = options.epoch;
    this.#transport = options.transport;
    this.#publisher = options.publisher;
    this.#refusals = options.refusals;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  serve<Request, Result>(
    declaration: CommandDeclaration<Request, Result>,
    handler: CommandHandler<Request, Result>,
    options: ServeOptions<Request> = {},
  ): void {
    this.#transport.subscribe(patternOf(this.#node, declaration), (message) => {
      try {
        this.#receive(declaration, { handler, ...options }, message);
      } catch (error) {
        this.#refusals.refuse(message, toError(error));
      }
    });
  }

  /**
   * Makes `source` the owner of `pod` with the fencing token `token`: queued commands of earlier owners are dropped, those that have
   * started are awaited. `term` is compared before `token`: it increases when the pod is assigned to another instance, so that the
   * previous owner cannot take it back. Throws {@link FencedOff} when a later owner exists, even one that arrived while this one
   * was waiting.
   */
  async fence(pod: string, source: string, token: number, term = 0): Promise<void> {
    checkToken(token);
    const id = fencedId(pod);
    const isLater = (other: CommandWindow) => other.term > term || (other.term === term && other.token > token);
    const present = this.#windows.get(id);
    if (present !== undefined && isLater(present)) throw fencedOff(pod, present);
    const began: Promise<void>[] = [];
    for (const entry of present?.entries.values() ?? []) {
      if (entry.began) began.push(entry.settled);
      else entry.dropped = true;
    }
    const window: CommandWindow = { source, term, token, low: 1, entries: new Map() };
    this.#remember(id, window);
    await Promise.all(began);
    const now = this.#windows.get(id);
    if (now !== undefined && isLater(now)) throw fencedOff(pod, now);
  }

  #receive<Request, Result>(
    declaration: CommandDeclaration<Request, Result>,
    { handler, fencesFirst }: { handler: CommandHandler<Request, Result> } & ServeOptions<Request>,
    message: WireMessage,
  ): void {
    const received = readCommand(message, this.#node, declaration.server, this.#clock.now());
    // Sent to an earlier start of this server, or to the one that follows: its sender sends it again when it has received that epoch.
    if (received.serverEpoch !== this.#epoch) return;
    const { envelope, number, key } = received;
    const answer = (status: CommandStatus, payload: Payload) =>
      this.#reply(declaration, received, envelope.cause, status, payload);
    let request: Request;
    try {
      checkType(envelope, typeOf(declaration));
      request = valueOf(declaration.request, message);
    } catch (error) {
      answer('refused', this.#failure({ code: 'invalid', message: toError(error).message, context: {} }));
      throw error;
    }
    if (declaration.fenced) this.#fenceFirst(key, envelope, number, () => fencesFirst?.({ key, request }));
    const window = declaration.fenced ? this.fencedWindow(key, envelope, number) : this.#openWindow(envelope, number);
    if ('code' in window) {
      answer('refused', this.#failure(window));
      return;
    }
    this.#advance(window, number.low);
    const known = this.known(window, number.seq);
    if (known === 'read') return;
    if (known !== undefined) {
      if (known.outcome === undefined) answer('attached', this.#arrived('attached'));
      else answer(known.outcome.status, known.outcome.payload);
      return;
    }
    let { cause } = envelope;
    const onTurn = () => (cause = withStartTime(cause, this.#clock.now()));
    const finish = (status: CommandStatus, payload: Payload) =>
      this.#reply(declaration, received, cause, status, payload);
    this.#run(window, number, { answer: finish, onTurn }, (begin) =>
      handler({
        ...{ request, key, source: envelope.source, token: number.token, begin },
        get cause() {
          return cause;
        },
      }),
    );
  }

  /** The command if it was accepted before; `read` for a late duplicate of one whose result the client has read. */
  protected known(window: CommandWindow, seq: number): CommandEntry | 'read' | undefined {
    return seq < window.low ? 'read' : window.entries.get(seq);
  }

  #run(
    window: CommandWindow,
    number: CommandNumber,
    { answer, onTurn }: { answer: (status: CommandStatus, payload: Payload) => void; onTurn: () => void },
    run: (begin: () => boolean) => Promise<unknown>,
  ): void {
    let settle: () => void = () => undefined;
    const entry: CommandEntry = {
      settled: new Promise((resolve) => (settle = resolve)),
      began: false,
      dropped: false,
      outcome: undefined,
    };
    window.entries.set(number.seq, entry);
    const accepted: Cancel = this.#clock.after(ACCEPTED_MS, () => {
      if (!entry.dropped) answer('accepted', this.#arrived('accepted'));
    });
    const finish = (status: 'done' | 'failed', payload: Payload) => {
      accepted();
      entry.outcome = { status, payload };
      settle();
      if (!entry.dropped) answer(status, payload);
    };
    let waits = false;
    const begin = () => {
      if (waits && !entry.began && !entry.dropped) onTurn();
      if (!entry.dropped) entry.began = true;
      return entry.began;
    };
    const running = new Promise((resolve) => resolve(run(begin)));
    waits = true;
    running.then(
      (result) => finish('done', payloadOf(this.#transport, result ?? {})),
      (error: unknown) => finish('failed', this.#failure(describe(toError(error)))),
    );
  }

  /**
   * The first command for a pod may fence it: no command of an earlier owner is queued or has started. Its token has to be
   * greater than those of its sender that were forgotten, so that a late duplicate owns nothing.
   */
  #fenceFirst(pod: string, { source }: Envelope, { token }: CommandNumber, term: () => number | undefined): void {
    const id = fencedId(pod);
    if (this.#windows.has(id) || token <= (this.#forgotten.get(source) ?? 0)) return;
    const first = term();
    if (first !== undefined) this.#remember(id, { source, term: first, token, low: 1, entries: new Map() });
  }

  /** The window of the pod's owner, or why this command is refused. */
  protected fencedWindow(pod: string, envelope: Envelope, number: CommandNumber): CommandWindow | Failure {
    const window = this.#windows.get(fencedId(pod));
    const isOwn = envelope.source === window?.source;
    if (window === undefined || (isOwn && number.token > window.token)) {
      return { code: 'not-fenced', message: `pod ${pod} has no fencing token ${number.token}`, context: { pod } };
    }
    if (!isOwn || number.token < window.token) return describe(fencedOff(pod, window));
    this.#remember(fencedId(pod), window);
    return window;
  }

  #openWindow(envelope: Envelope, number: CommandNumber): CommandWindow | Failure {
    const id = `from:${envelope.source} ${envelope.type}`;
    const window = this.#windows.get(id);
    if (window !== undefined && window.token > number.token) {
      return { code: 'outdated', message: `${envelope.source}has restarted since`, context: { epoch: window.token } };
    }
    const { source } = envelope;
    const { token } = number;
    const used: CommandWindow =
      window?.token === token ? window : { source, term: 0, token, low: 1, entries: new Map() };
    this.#remember(id, used);
    return used;
  }

  #advance(window: CommandWindow, low: number): void {
    if (low <= window.low) return;
    window.low = low;
    for (const seq of window.entries.keys()) if (seq < low) window.entries.delete(seq);
  }

  /** Keeps the {@link WINDOWS} windows that were used last. Commands of a pod without one are refused until it is fenced again. */
  #remember(id: string, window: CommandWindow): void {
    this.#windows.delete(id);
    this.#windows.set(id, window);
    if (this.#windows.size <= WINDOWS) return;
    for (const [oldest, { entries, source, token }] of this.#windows) {
      if ([...entries.values()].some((entry) => entry.outcome === undefined)) continue;
      this.#windows.delete(oldest);
      if (oldest.startsWith(POD)) this.#forgotten.set(source, Math.max(token, this.#forgotten.get(source) ?? 0));
      return;
    }
  }

  #reply(
    declaration: AnyCommand | CommandDeclaration<never, never>,
    { envelope, number, replies: subject }: ReceivedCommand,
    cause: Cause,
    status: CommandStatus,
    payload: Payload,
  ): void {
    const { headers } = this.#publisher.stamp(`${declaration.area}.reply.${declaration.name}/${declaration.version}`, {
      pod: envelope.pod,
      causes: [cause],
    });
    headers[HEADER.command] = formatCommandNumber(number);
    headers[HEADER.status] = status;
    this.#publishReply(withPayload({ subject, headers }, payload));
  }

  #publishReply(message: WireMessage): void {
    try {
      this.#transport.publish(message);
    } catch (error) {
      this.#logger.error({ subject: message.subject, err: toError(error) }, 'a reply could not be sent');
      const { subject } = message;
      const headers = { ...message.headers, [HEADER.status]: 'failed' };
      this.#transport.publish(withPayload({ subject, headers }, this.#failure(describe(toError(error)))));
    }
  }

  #arrived(status: Arrived['status']): Payload {
    return payloadOf(this.#transport, { status } satisfies Arrived);
  }

  #failure(value: Failure): Payload {
    return payloadOf(this.#transport, value);
  }
}

/** The windows of fenced pods, in contrast to those of clients. */
const POD = 'pod:';

function fencedId(pod: string): string {
  return POD + pod;
}

function fencedOff(pod: string, window: CommandWindow): FencedOff {
  return new FencedOff(
    'fenced-off',
    `pod ${pod} is owned by ${window.source} under the fencing token ${window.token}`,
    {
      context: { pod, holder: window.source, term: window.term, epoch: window.token },
    },
  );
}

/** The parts of an error that are sent over the bus: code, message and context of Kubus' own errors; only the message of others. */
function describe(error: Error): Failure {
  if (!(error instanceof KubusError)) return { code: 'internal', message: error.message, context: {} };
  const context: Failure['context'] = {};
  for (const [name, value] of Object.entries(error.context)) if (value !== undefined) context[name] = value;
  return { code: error.code, message: error.message, context };
}
