import {
  type AnyCommand,
  type Caller,
  type CommandDeclaration,
  type ServiceInstance,
  type ServiceName,
  commandSubject,
  keyOf,
  replyPattern,
  replySubject,
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
import { type Cause, HEADER, checkNotRepeated, decodeEnvelope } from './envelope.ts';
import { type Payload, payloadOf, valueOf, withPayload } from './payload.ts';
import type { Publisher, PublisherId } from './publisher.ts';
import type { Refusals } from './refusals.ts';
import type { Transport, WireMessage } from './transport.ts';

/**
 * First delay before a command without any answer is sent again, in milliseconds; doubles up to {@link ASK_AGAIN_MS}. A
 * server that needs longer than 200 ms says so before.
 */
const ACCEPT_MS = 1_000;
/** How often a running command is sent again, in milliseconds, in case its result was lost. */
const ASK_AGAIN_MS = 15_000;

/** A client's numbering of commands; see `CommandNumber`. */
interface Window {
  readonly token: number;
  next: number;
  readonly open: Set<number>;
}

/** The right to send fenced commands for one pod, until the server has received a greater token for it. */
export interface FencingToken extends Window {
  readonly pod: string;
}

/** A request, or how it is made for one start of the server: what is sealed for it no later start can open. */
export type RequestFor<Request> = Request | ((server: ServiceInstance) => Request);

export interface CommandResult<Result> {
  readonly result: Result;
  /** The message that contained the result. */
  readonly cause: Cause;
}

interface Pending {
  readonly declaration: AnyCommand;
  readonly key: string;
  readonly window: Window;
  readonly seq: number;
  readonly payload: (server: ServiceInstance) => Payload;
  readonly causes: readonly Cause[];
  readonly resolve: (result: CommandResult<unknown>) => void;
  readonly reject: (error: Error) => void;
  wait: number;
  timer: Cancel | undefined;
  /** Epoch of the server that accepted the command. */
  acceptedBy: number | undefined;
  /** The server has answered since the last connection: until the result arrives, sending again is only a precaution. */
  answered: boolean;
}

/**
 * The client side of commands. A call waits as long as necessary: across lost messages, a lost bus and an absent peer. It
 * ends with the result, with {@link CommandFailed}, {@link CommandRefused}, or with {@link PeerRestarted} when the server
 * that accepted it has restarted.
 */
export class CommandClient {
  readonly #publisherId: PublisherId;
  readonly #caller: Caller;
  readonly #transport: Transport;
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  readonly #refusals: Refusals;
  readonly #pending = new Map<string, Pending>();
  /** Windows of commands that need no fencing token, by type, so that a slow type does not keep the results of others in memory. */
  readonly #windows = new Map<string, Window>();
  /** The newest start of each service that was announced: a command is for that one only. */
  readonly #servers = new Map<ServiceName, ServiceInstance>();

  constructor(options: {
    publisherId: PublisherId;
    service: ServiceName;
    transport: Transport;
    publisher: Publisher;
    clock: Clock;
    refusals: Refusals;
  }) {
    this.#publisherId = options.publisherId;
    this.#transport = options.transport;
    this.#publisher = options.publisher;
    this.#clock = options.clock;
    this.#refusals = options.refusals;
    const { node, instance } = options.publisherId;
    this.#caller = { service: options.service, instance };
    options.transport.subscribe(replyPattern(node, this.#caller), (message) => {
      try {
        this.#receive(message);
      } catch (error) {
        this.#refusals.refuse(message, toError(error));
      }
    });
    options.transport.onConnection((connected) => {
      for (const pending of this.#pending.values()) {
        pending.timer?.();
        // The server may reconnect to the bus a moment later than this client, and then has not received this command.
        pending.wait = ACCEPT_MS;
        pending.answered = false;
        if (connected) this.#send(pending);
      }
    });
  }

  /**
   * A new fencing token for `pod`, valid once the server has received `number` with a fence command. Each fence of a pod
   * needs a greater number than all before it; otherwise late duplicates of an earlier numbering could be accepted.
   */
  fencingToken(pod: string, number: number): FencingToken {
    return { pod, token: number, next: 1, open: new Set() };
  }

  call<Request, Result>(
    declaration: CommandDeclaration<Request, Result>,
    key: string,
    request: RequestFor<Request>,
    options: { causes?: readonly Cause[] | undefined; fencingToken?: FencingToken | undefined } = {},
  ): Promise<CommandResult<Result>> {
    if (declaration.fenced && options.fencingToken?.pod !== key) {
      throw new KubusError('not-fenced', `${declaration.name} needs the fencing token of pod ${key}`);
    }
    const window = (declaration.fenced ? options.fencingToken : undefined) ?? this.#window(declaration);
    const seq = window.next++;
    window.open.add(seq);
    return new Promise((resolve, reject) => {
      const pending: Pending = {
        declaration: declaration,
        key,
        window,
        seq,
        payload: payloadFor(this.#transport, request),
        causes: options.causes ?? [],
        // The server's answer is parsed with the same declaration before it gets here.
        resolve: resolve as (result: CommandResult<unknown>) => void,
        reject,
        wait: ACCEPT_MS,
        timer: undefined,
        acceptedBy: undefined,
        answered: false,
      };
      this.#pending.set(pendingId(pending.declaration, key, window.token, seq), pending);
      if (this.#transport.connected) this.#send(pending);
    });
  }

  /** Stops waiting for the answers to the commands under `fencingToken`; their promises reject with the code `released`. */
  release(fencingToken: FencingToken): void {
    for (const pending of [...this.#pending.values()]) {
      if (pending.window === fencingToken)
        this.#settle(pending).reject(new KubusError('released', `pod ${fencingToken.pod} was released`));
    }
  }

  /**
   * To be called when an instance announces itself. Commands accepted by an earlier epoch are lost: fenced ones reject,
   * because the pod must be read and fenced again; all others can safely be sent again.
   */
  peerAnnounced(peer: ServiceInstance): void {
    const { service, epoch } = peer;
    if (epoch >= (this.#servers.get(service)?.epoch ?? 0)) this.#servers.set(service, peer);
    for (const pending of [...this.#pending.values()]) {
      if (pending.declaration.server !== service) continue;
      if (pending.acceptedBy !== undefined && pending.acceptedBy >= epoch) continue;
      if (pending.acceptedBy !== undefined && pending.declaration.fenced) {
        this.#settle(pending).reject(restarted(pending));
      } else if (this.#transport.connected) {
        pending.acceptedBy = undefined;
        pending.answered = false;
        this.#send(pending);
      }
    }
  }

  #window(declaration: AnyCommand): Window {
    const type = typeOf(declaration);
    let window = this.#windows.get(type);
    if (window === undefined) {
      window = { token: this.#publisherId.epoch, next: 1, open: new Set() };
      this.#windows.set(type, window);
    }
    return window;
  }

  /** Until its server has announced itself, a command waits for that. */
  #send(pending: Pending): void {
    const { declaration, key, window, seq } = pending;
    const server = this.#servers.get(declaration.server);
    if (server === undefined) return;
    const { node } = this.#publisherId;
    const { headers } = this.#publisher.stamp(declaration, {
      pod: declaration.key === 'pod' ? key : undefined,
      causes: pending.causes,
    });
    headers[HEADER.command] = formatCommandNumber({ token: window.token, seq, low: Math.min(...window.open) });
    headers[HEADER.server] = String(server.epoch);
    try {
      const subject = commandSubject(node, declaration, key, this.#caller);
      const reply = replySubject(node, this.#caller, key, declaration.server);
      this.#transport.publish(withPayload({ subject, headers, reply }, pending.payload(server)));
    } catch (error) {
      this.#settle(pending).reject(toError(error));
      return;
    }
    this.#schedule(pending);
  }

  #schedule(pending: Pending): void {
    pending.timer?.();
    const wait = pending.answered ? ASK_AGAIN_MS : pending.wait;
    pending.wait = Math.min(pending.wait * 2, ASK_AGAIN_MS);
    pending.timer = this.#clock.after(wait, () => {
      if (this.#transport.connected) this.#send(pending);
    });
  }

  #receive(message: WireMessage): void {
    checkNotRepeated(message);
    const envelope = decodeEnvelope(message.headers, this.#clock.now());
    const number = parseCommandNumber(message.headers[HEADER.command]);
    const key = keyOf(message.subject);
    const id = `${envelope.type.replace('.reply.', '.cmd.')} ${key} ${number.token} ${number.seq}`;
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    // The broker lets a service send replies only under its own name.
    const replies = replySubject(this.#publisherId.node, this.#caller, key, pending.declaration.server);
    if (message.subject !== replies) {
      throw new KubusError(
        'other-server',
        `a reply to ${envelope.type} has to come from ${pending.declaration.server}`,
      );
    }
    if (pending.acceptedBy !== undefined && envelope.epoch < pending.acceptedBy) return;
    switch (message.headers[HEADER.status]) {
      case 'accepted':
      case 'attached':
        pending.acceptedBy = envelope.epoch;
        pending.answered = true;
        this.#schedule(pending);
        return;
      case 'done': {
        const result = valueOf(pending.declaration.result, message);
        this.#settle(pending).resolve({ result, cause: envelope.cause });
        return;
      }
      case 'failed':
      case 'refused': {
        const { code, message: text, context } = valueOf(failureSchema, message);
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
    this.#pending.delete(pendingId(pending.declaration, pending.key, pending.window.token, pending.seq));
    return pending;
  }
}

function payloadFor<Request>(transport: Transport, request: RequestFor<Request>): (server: ServiceInstance) => Payload {
  if (typeof request === 'function') {
    // Requests of commands are objects.
    const make = request as (server: ServiceInstance) => Request;
    return (server) => payloadOf(transport, make(server));
  }
  const payload = payloadOf(transport, request);
  return () => payload;
}

function pendingId(declaration: AnyCommand, key: string, token: number, seq: number): string {
  return `${typeOf(declaration)} ${key} ${token} ${seq}`;
}

function restarted(pending: Pending): PeerRestarted {
  const { server, name } = pending.declaration;
  return new PeerRestarted('peer-restarted', `${server} restarted while it had ${name}`, {
    context: { command: name, key: pending.key },
  });
}
