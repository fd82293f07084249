import {
  type AnyCommand,
  type CommandDeclaration,
  type ServiceName,
  encodeToken,
  replyPattern,
  replySubject,
  subjectOf,
  typeOf,
} from '@kubus/contracts';
import { type Cancel, type Clock, KubusError, toError } from '@kubus/ports';
import {
  CommandFailed,
  CommandRefused,
  PeerRestarted,
  failureSchema,
  formatCommandNumber,
  parseCommandNumber,
} from './command.ts';
import { type Cause, HEADER, decodeEnvelope } from './envelope.ts';
import type { Publisher, Speaker } from './publisher.ts';
import type { Refusals } from './refusals.ts';
import type { Transport, WireMessage } from './transport.ts';

/** First wait for the answer `accepted`; doubles up to {@link ASK_AGAIN_MS}. */
const ACCEPT_MS = 1_000;
/** How often a command that runs is asked for again, in case its result was lost. */
const ASK_AGAIN_MS = 15_000;

/** A client's numbering of commands; see `CommandNumber`. */
interface Window {
  readonly hold: number;
  next: number;
  readonly open: Set<number>;
}

/** The right to send fenced commands for one pod, as long as nobody with a later epoch takes it over. */
export interface Hold extends Window {
  readonly pod: string;
}

export interface CommandResult<Result> {
  readonly result: Result;
  /** The message that brought the result. */
  readonly cause: Cause;
}

interface Pending {
  readonly declaration: AnyCommand;
  readonly key: string;
  readonly window: Window;
  readonly seq: number;
  readonly data: string;
  readonly causes: readonly Cause[];
  readonly resolve: (result: CommandResult<unknown>) => void;
  readonly reject: (error: Error) => void;
  wait: number;
  timer: Cancel | undefined;
  /** Epoch of the server's life that has the command. */
  acceptedBy: number | undefined;
  /** It has said so since the last connection: until its result comes, asking again is only a precaution. */
  heard: boolean;
}

/**
 * The asking side of commands. A call waits as long as it takes: over lost messages, a lost bus and an absent peer. It
 * ends with the result, with {@link CommandFailed}, {@link CommandRefused}, or with {@link PeerRestarted} when the life of
 * the server that had it is over.
 */
export class CommandClient {
  readonly #speaker: Speaker;
  readonly #service: ServiceName;
  readonly #transport: Transport;
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  readonly #refusals: Refusals;
  readonly #pending = new Map<string, Pending>();
  /** Windows of commands that need no hold, by type: a slow one does not keep the results of others alive. */
  readonly #windows = new Map<string, Window>();

  constructor(options: {
    speaker: Speaker;
    service: ServiceName;
    transport: Transport;
    publisher: Publisher;
    clock: Clock;
    refusals: Refusals;
  }) {
    this.#speaker = options.speaker;
    this.#service = options.service;
    this.#transport = options.transport;
    this.#publisher = options.publisher;
    this.#clock = options.clock;
    this.#refusals = options.refusals;
    const { node, instance } = options.speaker;
    options.transport.subscribe(replyPattern(node, options.service, instance), (message) => {
      try {
        this.#receive(message);
      } catch (error) {
        this.#refusals.refuse(message, toError(error));
      }
    });
    options.transport.onConnection((connected) => {
      for (const pending of this.#pending.values()) {
        pending.timer?.();
        // The server may be back on the bus a moment later than this client, and then has not heard this ask.
        pending.wait = ACCEPT_MS;
        pending.heard = false;
        if (connected) this.#send(pending);
      }
    });
  }

  /**
   * A fresh numbering for `pod`, valid once the server has been told `number` by a fence command. Each fence of a pod
   * needs a greater number than all before it, or late duplicates of an earlier numbering could pass.
   */
  hold(pod: string, number: number): Hold {
    return { pod, hold: number, next: 1, open: new Set() };
  }

  call<Request, Result>(
    declaration: CommandDeclaration<Request, Result>,
    key: string,
    request: Request,
    options: { causes?: readonly Cause[] | undefined; hold?: Hold | undefined } = {},
  ): Promise<CommandResult<Result>> {
    if (declaration.fenced && options.hold?.pod !== key) {
      throw new KubusError('not-fenced', `${declaration.name} needs the hold of pod ${key}`);
    }
    const window = (declaration.fenced ? options.hold : undefined) ?? this.#window(declaration);
    const seq = window.next++;
    window.open.add(seq);
    return new Promise((resolve, reject) => {
      const pending: Pending = {
        declaration: declaration,
        key,
        window,
        seq,
        data: JSON.stringify(request),
        causes: options.causes ?? [],
        // The server's answer is parsed by the same declaration before it gets here.
        resolve: resolve as (result: CommandResult<unknown>) => void,
        reject,
        wait: ACCEPT_MS,
        timer: undefined,
        acceptedBy: undefined,
        heard: false,
      };
      this.#pending.set(pendingId(pending.declaration, key, window.hold, seq), pending);
      if (this.#transport.connected) this.#send(pending);
    });
  }

  /** Stops waiting for the answers to the hold's commands; their promises reject with code `released`. */
  release(hold: Hold): void {
    for (const pending of [...this.#pending.values()]) {
      if (pending.window === hold)
        this.#settle(pending).reject(new KubusError('released', `pod ${hold.pod} was let go`));
    }
  }

  /**
   * To be called when an instance of `service` announces itself. What an earlier life had is lost: fenced commands reject,
   * for the pod must be read and fenced anew; all others are safe to ask again.
   */
  peerAnnounced(service: ServiceName, epoch: number): void {
    for (const pending of [...this.#pending.values()]) {
      if (pending.declaration.server !== service) continue;
      if (pending.acceptedBy !== undefined && pending.acceptedBy >= epoch) continue;
      if (pending.acceptedBy !== undefined && pending.declaration.fenced) {
        this.#settle(pending).reject(restarted(pending));
      } else if (this.#transport.connected) {
        pending.acceptedBy = undefined;
        pending.heard = false;
        this.#send(pending);
      }
    }
  }

  #window(declaration: AnyCommand): Window {
    const type = typeOf(declaration);
    let window = this.#windows.get(type);
    if (window === undefined) {
      window = { hold: this.#speaker.epoch, next: 1, open: new Set() };
      this.#windows.set(type, window);
    }
    return window;
  }

  #send(pending: Pending): void {
    const { declaration, key, window, seq } = pending;
    const { node, instance } = this.#speaker;
    const { headers } = this.#publisher.stamp(declaration, {
      pod: declaration.key === 'pod' ? key : undefined,
      causes: pending.causes,
    });
    headers[HEADER.command] = formatCommandNumber({ hold: window.hold, seq, low: Math.min(...window.open) });
    try {
      this.#transport.publish({
        subject: subjectOf(node, declaration, key),
        headers,
        data: pending.data,
        reply: replySubject(node, this.#service, instance, key),
      });
    } catch (error) {
      this.#settle(pending).reject(toError(error));
      return;
    }
    this.#schedule(pending);
  }

  #schedule(pending: Pending): void {
    pending.timer?.();
    const wait = pending.heard ? ASK_AGAIN_MS : pending.wait;
    pending.wait = Math.min(pending.wait * 2, ASK_AGAIN_MS);
    pending.timer = this.#clock.after(wait, () => {
      if (this.#transport.connected) this.#send(pending);
    });
  }

  #receive(message: WireMessage): void {
    const envelope = decodeEnvelope(message.headers, this.#clock.now());
    const number = parseCommandNumber(message.headers[HEADER.command]);
    const token = message.subject.slice(message.subject.lastIndexOf('.') + 1);
    const id = `${envelope.type.replace('.reply.', '.cmd.')} ${token} ${number.hold} ${number.seq}`;
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    if (pending.acceptedBy !== undefined && envelope.epoch < pending.acceptedBy) return;
    switch (message.headers[HEADER.status]) {
      case 'accepted':
      case 'attached':
        pending.acceptedBy = envelope.epoch;
        pending.heard = true;
        this.#schedule(pending);
        return;
      case 'done': {
        const result = pending.declaration.result.parse(JSON.parse(message.data));
        this.#settle(pending).resolve({ result, cause: envelope.cause });
        return;
      }
      case 'failed':
      case 'refused': {
        const { code, message: text, context } = failureSchema.parse(JSON.parse(message.data));
        const Kind = message.headers[HEADER.status] === 'failed' ? CommandFailed : CommandRefused;
        this.#settle(pending).reject(new Kind(code, text, { context }));
        return;
      }
      default:
        throw new KubusError('bad-envelope', `header ${HEADER.status} is not a command's status`);
    }
  }

  #settle(pending: Pending): Pending {
    pending.timer?.();
    pending.window.open.delete(pending.seq);
    this.#pending.delete(pendingId(pending.declaration, pending.key, pending.window.hold, pending.seq));
    return pending;
  }
}

function pendingId(declaration: AnyCommand, key: string, hold: number, seq: number): string {
  return `${declaration.area}.cmd.${declaration.name}/${declaration.version} ${encodeToken(key)} ${hold} ${seq}`;
}

function restarted(pending: Pending): PeerRestarted {
  const { server, name } = pending.declaration;
  return new PeerRestarted('peer-restarted', `${server} restarted while it had ${name}`, {
    context: { command: name, key: pending.key },
  });
}
