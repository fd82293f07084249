import { type AnyCommand, type CommandDeclaration, keyOf, patternOf, typeOf } from '@kubus/contracts';
import { type Clock, KubusError, type Logger, toError } from '@kubus/ports';
import {
  type CommandNumber,
  type CommandStatus,
  type Failure,
  formatCommandNumber,
  parseCommandNumber,
} from './command.ts';
import { type Cause, type Envelope, HEADER, begunAt, checkType, decodeEnvelope } from './envelope.ts';
import type { Publisher } from './publisher.ts';
import type { Refusals } from './refusals.ts';
import type { Transport, WireMessage } from './transport.ts';

/** What a handler gets with a command. */
export interface CommandContext<Request> {
  readonly request: Request;
  /** The command's key: a pod's UID where it concerns one. */
  readonly key: string;
  /** The asking instance and the epoch under which it asks. */
  readonly source: string;
  readonly hold: number;
  /** The command, as a cause of what is done for it. */
  readonly cause: Cause;
  /**
   * Call it right before the effect. False: a fence dropped the command while it waited, and nothing may be done any more;
   * nobody waits for the outcome. A command that was not begun as soon as it came has waited for its turn: from then on
   * {@link cause} says until when.
   */
  begin(): boolean;
}

export type CommandHandler<Request, Result> = (context: CommandContext<Request>) => Promise<Result>;

/** A newer holder exists. */
export class FencedOff extends KubusError {}

/** @internal One command that was taken. */
export interface CommandEntry {
  readonly settled: Promise<void>;
  began: boolean;
  dropped: boolean;
  outcome: { status: 'done' | 'failed'; data: string } | undefined;
}

/** @internal The commands of one client that count. */
export interface CommandWindow {
  readonly source: string;
  /** Of a fenced pod: under which term its holder has it. */
  readonly term: number;
  readonly hold: number;
  low: number;
  readonly entries: Map<number, CommandEntry>;
}

/** How many windows of pods are remembered after their last command; older ones must be fenced anew. */
const WINDOWS = 4096;

export interface CommandServerOptions {
  readonly node: string;
  readonly transport: Transport;
  readonly publisher: Publisher;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The serving side of commands: answers `accepted` or `attached` at once, runs each command once, and keeps its result
 * until the client says that it has read it. Fenced commands run only for the pod's present holder.
 */
export class CommandServer {
  readonly #node: string;
  readonly #transport: Transport;
  readonly #publisher: Publisher;
  readonly #refusals: Refusals;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #windows = new Map<string, CommandWindow>();

  constructor(options: CommandServerOptions) {
    this.#node = options.node;
    this.#transport = options.transport;
    this.#publisher = options.publisher;
    this.#refusals = options.refusals;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  serve<Request, Result>(
    declaration: CommandDeclaration<Request, Result>,
    handler: CommandHandler<Request, Result>,
  ): void {
    this.#transport.subscribe(patternOf(this.#node, declaration), (message) => {
      try {
        this.#receive(declaration, handler, message);
      } catch (error) {
        this.#refusals.refuse(message, toError(error));
      }
    });
  }

  /**
   * Makes `source` the holder of `pod` under `hold`: queued commands of earlier holders are dropped, those that began are
   * waited for. `term` counts before `hold`: it grows when the pod is given to another instance, so that whoever had it
   * before can not take it back. Throws {@link FencedOff} when a later holder exists, also one that came while this one
   * waited.
   */
  async fence(pod: string, source: string, hold: number, term = 0): Promise<void> {
    const id = fencedId(pod);
    const isLater = (other: CommandWindow) => other.term > term || (other.term === term && other.hold > hold);
    const present = this.#windows.get(id);
    if (present !== undefined && isLater(present)) throw fencedOff(pod, present);
    const began: Promise<void>[] = [];
    for (const entry of present?.entries.values() ?? []) {
      if (entry.began) began.push(entry.settled);
      else entry.dropped = true;
    }
    const window: CommandWindow = { source, term, hold, low: 1, entries: new Map() };
    this.#remember(id, window);
    await Promise.all(began);
    const now = this.#windows.get(id);
    if (now !== undefined && isLater(now)) throw fencedOff(pod, now);
  }

  #receive<Request, Result>(
    declaration: CommandDeclaration<Request, Result>,
    handler: CommandHandler<Request, Result>,
    message: WireMessage,
  ): void {
    const envelope = decodeEnvelope(message.headers, this.#clock.now());
    const number = parseCommandNumber(message.headers[HEADER.command]);
    const key = keyOf(message.subject);
    const answer = (status: CommandStatus, data: string) =>
      this.#reply(declaration, message, envelope, number, status, data);
    let request: Request;
    try {
      checkType(envelope, typeOf(declaration));
      request = declaration.request.parse(JSON.parse(message.data));
    } catch (error) {
      answer('refused', failure({ code: 'invalid', message: toError(error).message, context: {} }));
      throw error;
    }
    const window = declaration.fenced ? this.fencedWindow(key, envelope, number) : this.#openWindow(envelope, number);
    if ('code' in window) {
      answer('refused', failure(window));
      return;
    }
    this.#advance(window, number.low);
    const known = this.known(window, number.seq);
    if (known === 'read') return;
    if (known !== undefined) {
      if (known.outcome === undefined) answer('attached', '');
      else answer(known.outcome.status, known.outcome.data);
      return;
    }
    answer('accepted', '');
    let { cause } = envelope;
    const onTurn = () => (cause = begunAt(cause, this.#clock.now()));
    const finish = (status: CommandStatus, data: string) =>
      this.#reply(declaration, message, { ...envelope, cause }, number, status, data);
    this.#run(window, number, { answer: finish, onTurn }, (begin) =>
      handler({
        ...{ request, key, source: envelope.source, hold: number.hold, begin },
        get cause() {
          return cause;
        },
      }),
    );
  }

  /** The command if it has been taken before; `read` for a late duplicate of one whose result the client has read. */
  protected known(window: CommandWindow, seq: number): CommandEntry | 'read' | undefined {
    return seq < window.low ? 'read' : window.entries.get(seq);
  }

  #run(
    window: CommandWindow,
    number: CommandNumber,
    { answer, onTurn }: { answer: (status: CommandStatus, data: string) => void; onTurn: () => void },
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
    const finish = (status: 'done' | 'failed', data: string) => {
      entry.outcome = { status, data };
      settle();
      if (!entry.dropped) answer(status, data);
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
      (result) => finish('done', JSON.stringify(result ?? {})),
      (error: unknown) => finish('failed', failure(describe(toError(error)))),
    );
  }

  /** The window of the pod's holder, or why this command is not the holder's. */
  protected fencedWindow(pod: string, envelope: Envelope, number: CommandNumber): CommandWindow | Failure {
    const window = this.#windows.get(fencedId(pod));
    const isOwn = envelope.source === window?.source;
    if (window === undefined || (isOwn && number.hold > window.hold)) {
      return { code: 'not-fenced', message: `pod ${pod} is not held under epoch ${number.hold}`, context: { pod } };
    }
    if (!isOwn || number.hold < window.hold) return describe(fencedOff(pod, window));
    return window;
  }

  #openWindow(envelope: Envelope, number: CommandNumber): CommandWindow | Failure {
    const id = `from:${envelope.source} ${envelope.type}`;
    const window = this.#windows.get(id);
    if (window !== undefined && window.hold > number.hold) {
      return { code: 'outdated', message: `${envelope.source} has a later life`, context: { epoch: window.hold } };
    }
    if (window?.hold === number.hold) return window;
    const fresh: CommandWindow = {
      source: envelope.source,
      term: 0,
      hold: number.hold,
      low: 1,
      entries: new Map(),
    };
    this.#remember(id, fresh);
    return fresh;
  }

  #advance(window: CommandWindow, low: number): void {
    if (low <= window.low) return;
    window.low = low;
    for (const seq of window.entries.keys()) if (seq < low) window.entries.delete(seq);
  }

  /** Keeps the last {@link WINDOWS} windows. A forgotten pod refuses commands until it is fenced again. */
  #remember(id: string, window: CommandWindow): void {
    this.#windows.delete(id);
    this.#windows.set(id, window);
    if (this.#windows.size <= WINDOWS) return;
    for (const [oldest, { entries }] of this.#windows) {
      if ([...entries.values()].some((entry) => entry.outcome === undefined)) continue;
      this.#windows.delete(oldest);
      return;
    }
  }

  #reply(
    declaration: AnyCommand | CommandDeclaration<never, never>,
    message: WireMessage,
    envelope: Envelope,
    number: CommandNumber,
    status: CommandStatus,
    data: string,
  ): void {
    if (message.reply === undefined) return;
    const { headers } = this.#publisher.stamp(`${declaration.area}.reply.${declaration.name}/${declaration.version}`, {
      pod: envelope.pod,
      causes: [envelope.cause],
    });
    headers[HEADER.command] = formatCommandNumber(number);
    headers[HEADER.status] = status;
    this.#publishReply({ subject: message.reply, headers, data });
  }

  #publishReply(message: WireMessage): void {
    try {
      this.#transport.publish(message);
    } catch (error) {
      this.#logger.error({ subject: message.subject, err: toError(error) }, 'a reply could not be sent');
      const headers = { ...message.headers, [HEADER.status]: 'failed' };
      this.#transport.publish({ ...message, headers, data: failure(describe(toError(error))) });
    }
  }
}

function fencedId(pod: string): string {
  return `pod:${pod}`;
}

function fencedOff(pod: string, window: CommandWindow): FencedOff {
  return new FencedOff('fenced-off', `pod ${pod} is held by ${window.source} under epoch ${window.hold}`, {
    context: { pod, holder: window.source, term: window.term, epoch: window.hold },
  });
}

function failure(value: Failure): string {
  return JSON.stringify(value);
}

/** What of an error may be told on the bus: code, message and context of our own errors; only the message of others. */
function describe(error: Error): Failure {
  if (!(error instanceof KubusError)) return { code: 'internal', message: error.message, context: {} };
  const context: Failure['context'] = {};
  for (const [name, value] of Object.entries(error.context)) if (value !== undefined) context[name] = value;
  return { code: error.code, message: error.message, context };
}
