import { HEADER, Publisher, type PublisherId, type Transport, type WireMessage, decodeEnvelope } from '@kubus/bus';
import { type JournalPart, instanceJournal, sourceBeside, subjectOf } from '@kubus/contracts';
import { type Cancel, type Clock, type Ids, type Logger, toError } from '@kubus/ports';
import type { Item } from './items.ts';
import { RecentParts } from './recent-parts.ts';
import type { Arrival, Effect, Tape } from './tape.ts';
import { pack, unpack } from './values.ts';

/** A part is sent at the latest with this number of entries, ... */
const MOST_ITEMS = 500;
/** ... or this number of milliseconds after its first entry. */
const FLUSH_MS = 500;

/** The code that started the instance, as a source of inputs. */
const STARTER = 0;

export interface RecorderOptions {
  readonly publisherId: PublisherId;
  /** The real transports: of the instance, and of the journal itself. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Runs `step` soon, after everything before it and everything that this has made ready. */
  readonly soon: (step: () => void) => void;
}

/**
 * Writes the journal of one run of an instance, and publishes it in parts. Every input is processed in a separate turn, so that
 * a replay knows the order of events. A message is sent after the part of the journal that leads to it: a reader that has
 * the message has what is needed to produce it again.
 */
export class Recorder implements Tape {
  readonly #options: RecorderOptions;
  readonly #publisher: Publisher;
  readonly #subject: string;
  readonly #recent: RecentParts;
  readonly #handlers = new Map<number, (arrival: Arrival) => void>();
  #items: Item[] = [];
  #parts = 0;
  #opened = STARTER;
  /** A turn is in progress: current actions are the instance's. */
  #inTurn = false;
  /** The last reading of the clock, in microseconds. */
  #lastNow = 0;
  #timer: Cancel | undefined;

  constructor(options: RecorderOptions) {
    const { publisherId, transport, clock, ids } = options;
    this.#options = options;
    this.#publisher = new Publisher({
      publisherId: { ...publisherId, instance: sourceBeside(publisherId.instance, 'journal') },
      ...{ clock, ids },
    });
    this.#subject = subjectOf(publisherId.node, instanceJournal, publisherId.instance);
    this.#recent = new RecentParts({ clock, send: (message) => transport.publish(message) });
    transport.onConnection((connected) => this.#recent.connection(connected));
    this.#recent.connection(transport.connected);
  }

  now(): number {
    const micros = Math.round(this.#options.clock.now() * 1000);
    if (this.#inTurn) {
      this.#items.push(micros - this.#lastNow);
      this.#lastNow = micros;
    }
    return micros / 1000;
  }

  value<T>(real: () => T): T {
    const value = real();
    if (this.#inTurn) this.#items.push(['value', value]);
    return value;
  }

  do(effect: Effect, real: () => void): void {
    this.#write(effect);
    try {
      real();
    } catch (error) {
      if (this.#inTurn) this.#items.push(['threw', toError(error).message]);
      throw error;
    }
  }

  open(
    effect: Effect,
    real: (arrive: (arrival: Arrival) => void) => Cancel,
    handle: (arrival: Arrival) => void,
  ): Cancel {
    if (!this.#inTurn) return this.#openAside(effect, real, handle);
    const number = ++this.#opened;
    this.#handlers.set(number, handle);
    this.#write(effect);
    const cancel = real((arrival) => {
      this.#options.soon(() => {
        const handler = this.#handlers.get(number);
        if (handler !== undefined) this.#turn(itemOf(number, arrival), () => handler(arrival));
      });
    });
    return () => {
      this.#handlers.delete(number);
      cancel();
    };
  }

  /**
   * Makes the instance do something for the code that started it, as a separate turn.
   *
   * @param argument plain values; `action` receives them in the same form as in a replay
   */
  enter<Argument, T>(name: string, argument: Argument, action: (argument: Argument) => T | Promise<T>): Promise<T> {
    const packed = pack(argument);
    return new Promise((resolve, reject) => {
      this.#options.soon(() => {
        this.#turn(['in', STARTER, [name, packed]], () => {
          new Promise<T>((done) => done(action(unpack(packed) as Argument))).then(resolve, reject);
        });
      });
    });
  }

  /** Publishes entries that have not been published yet. */
  flush(): void {
    this.#timer?.();
    this.#timer = undefined;
    if (this.#items.length === 0) return;
    const payload: JournalPart = { part: this.#parts++, items: this.#items };
    this.#items = [];
    const { headers } = this.#publisher.stamp(instanceJournal, {});
    try {
      this.#recent.add({ subject: this.#subject, headers, data: JSON.stringify(payload) });
    } catch (error) {
      this.#options.logger.error({ err: toError(error) }, 'the journal has a gap: a part could not be sent');
    }
  }

  #turn(item: Item, action: () => void): void {
    this.#items.push(item);
    this.#inTurn = true;
    // Runs when nothing of the turn is ready any more: ticks that are requested by a promise come after all promises.
    queueMicrotask(() => process.nextTick(() => this.#endTurn()));
    action();
  }

  #endTurn(): void {
    this.#inTurn = false;
    if (this.#items.length >= MOST_ITEMS) this.flush();
    else if (this.#items.length > 0) this.#timer ??= this.#options.clock.after(FLUSH_MS, () => this.flush());
  }

  #write(effect: Effect): void {
    if (!('out' in effect)) {
      if (this.#inTurn) this.#items.push(['do', effect.what, effect.detail]);
      return;
    }
    const number = Number(effect.out.headers[HEADER.seq]);
    this.#items.push([this.#inTurn ? 'out' : 'stray', number]);
    this.flush();
  }

  /** Something that is not a decision of the instance, such as the deadline of a request for its metrics. */
  #openAside(
    effect: Effect,
    real: (arrive: (arrival: Arrival) => void) => Cancel,
    handle: (arrival: Arrival) => void,
  ): Cancel {
    if ('out' in effect) this.#write(effect);
    let cancelled = false;
    const cancel = real((arrival) => {
      if (!cancelled) handle(arrival);
    });
    return () => {
      cancelled = true;
      cancel();
    };
  }
}

function itemOf(number: number, arrival: Arrival): Item {
  if (!('message' in arrival)) return ['in', number, arrival.value];
  const { message } = arrival;
  const id = idOf(message);
  if (id === undefined) return ['message', number, message];
  return message.reply === undefined ? ['message', number, id] : ['message', number, id, message.reply];
}

/** Undefined where a message has no id: then it cannot be found in a recording by its id either. */
function idOf({ headers }: WireMessage): string | undefined {
  try {
    return decodeEnvelope(headers).cause.id;
  } catch {
    return undefined;
  }
}
