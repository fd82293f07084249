import { Bus, HEADER, type WireMessage } from '@kubus/bus';
import { type ServiceName, serviceContracts, serviceNames } from '@kubus/contracts';
import {
  type Arrival,
  type Core,
  type CorePorts,
  type Item,
  TapedTransport,
  callByName,
  tapedClock,
  tapedIds,
  tapedOutside,
  unpack,
} from '@kubus/journal';
import { KubusError, silentLogger, toError } from '@kubus/ports';
import * as z from 'zod';
import { parse } from './compare.ts';
import { Journal, describeItem } from './journal.ts';
import { type Divergence, Player } from './player.ts';
import type { Recording, RecordedLife } from './recording.ts';
import type { Difference, LifeReport, ReplayedMessage } from './report.ts';

/** A core with any type of inputs. */
type AnyCore = Core<unknown, Readonly<Record<string, object>>, unknown, object>;
/** The core of each service that can be replayed. */
export type Cores = Readonly<Partial<Record<ServiceName, AnyCore>>>;

/** Number of journal entries before a difference that a report contains. */
const ENTRIES_BEFORE = 12;

const busSchema = z.object({
  node: z.string(),
  service: z.enum(serviceNames),
  instance: z.string(),
  epoch: z.number(),
});
const entrySchema = z.tuple([z.string(), z.unknown()]);
const noIds = { hex: (bytes: number) => '0'.repeat(2 * bytes), fraction: () => 0 };

/** Replays one life from its journal and the recorded messages, and compares what it publishes with the recording. */
export async function replayLife(recording: Recording, life: RecordedLife, cores: Cores): Promise<LifeReport> {
  const replay = new Replay(recording, life, cores);
  await replay.run();
  return replay.report();
}

class Replay {
  readonly #recording: Recording;
  readonly #life: RecordedLife;
  readonly #cores: Cores;
  readonly #journal: Journal;
  readonly #player: Player;
  #gap: string | undefined;
  #ports: CorePorts | undefined;
  #core: AnyCore | undefined;
  #running: unknown;
  #inputs = 0;
  /** Index of the journal entry with which the current turn began. */
  #turn = 0;

  constructor(recording: Recording, life: RecordedLife, cores: Cores) {
    this.#recording = recording;
    this.#life = life;
    this.#cores = cores;
    const journal = new Journal(life);
    this.#journal = journal;
    this.#player = new Player({ journal, published: (number) => recording.find(this.#id(number))?.message });
  }

  async run(): Promise<void> {
    const player = this.#player;
    while (player.divergence === undefined) {
      this.#turn = player.at;
      this.#journal.passed(player.at - ENTRIES_BEFORE);
      const item = this.#journal.at(player.at);
      if (item === undefined || !this.#begin(item)) return;
      this.#inputs += 1;
      // Let everything that the input has triggered run to its end.
      await new Promise((resolve) => setImmediate(resolve));
      player.endTurn();
    }
  }

  report(): LifeReport {
    const { instance, epoch, published } = this.#life;
    const { equal, unrecorded, divergence } = this.#player;
    return {
      ...{ instance, epoch, inputs: this.#inputs, equal: equal.size, unrecorded: unrecorded.size },
      notCovered: divergence === undefined ? published - equal.size : 0,
      gap: this.#gap ?? this.#journal.gap,
      difference: divergence && this.#difference(divergence),
    };
  }

  /** Replays one input; false when its message is missing, which ends the replay. */
  #begin(item: Item): boolean {
    const player = this.#player;
    if (!Array.isArray(item)) throw new KubusError('bad-journal', 'the journal does not start with an input');
    const arrival = this.#arrivalOf(item);
    if (arrival === undefined) return false;
    player.at += 1;
    try {
      const number = Number(item[1]);
      if (number === 0) this.#enter('value' in arrival ? arrival.value : undefined);
      else player.arrive(number, arrival);
    } catch (error) {
      player.diverge(`fails: ${toError(error).message}`, player.at);
    }
    return true;
  }

  #arrivalOf(item: Exclude<Item, number>): Arrival | undefined {
    if (item[0] === 'in') return { value: item[2] };
    if (item[0] !== 'message') throw new KubusError('bad-journal', `a turn starts with: ${describeItem(item)}`);
    const [, , id, reply] = item;
    if (typeof id !== 'string') return { message: id };
    const message = this.#recording.find(id)?.message;
    if (message === undefined) {
      this.#gap = `received message ${id} is not in the recording`;
      return undefined;
    }
    return { message: reply === undefined ? message : { ...message, reply } };
  }

  /** Replays a call of the service's host: join the bus, start, announce. */
  #enter(value: unknown): void {
    const [name, packed] = entrySchema.parse(value);
    const argument = unpack(packed);
    if (name === 'bus') this.#join(busSchema.parse(argument));
    else if (this.#ports === undefined || this.#core === undefined) {
      throw new KubusError('bad-journal', `${name} comes before the instance has joined the bus`);
    } else if (name === 'start') {
      const outside = tapedOutside(this.#player, this.#core.outside);
      this.#core.start(this.#ports, argument, outside).then(
        (running) => (this.#running = running),
        (error: unknown) => this.#player.diverge(`does not start: ${toError(error).message}`, this.#player.at),
      );
    } else if (name === 'announce') this.#ports.bus.announce(argument as Parameters<Bus['announce']>[0]);
    else callByName(this.#core.calls(this.#running), name, argument);
  }

  #join({ node, service, instance, epoch }: z.infer<typeof busSchema>): void {
    this.#core = this.#cores[service];
    if (this.#core === undefined) throw new KubusError('no-core', `${service} cannot be replayed: it has no core`);
    const player = this.#player;
    const [clock, ids, logger] = [tapedClock(player), tapedIds(player, noIds), silentLogger];
    const transport = new TapedTransport(player, node);
    const contract = serviceContracts[service];
    const bus = new Bus({ node, service, instance, epoch, contract, transport, clock, ids, logger });
    this.#ports = { bus, clock, ids, logger };
  }

  #difference({ what, at, expected, got, changes }: Divergence): Difference {
    return {
      what: `${this.#life.instance} ${what}`,
      expected: expected && this.#reported(expected, true),
      got: got && this.#reported(got, false),
      changes,
      cause: this.#cause(),
      before: this.#journal.before(at, ENTRIES_BEFORE).map(describeItem),
    };
  }

  #cause(): Difference['cause'] {
    const item = this.#journal.at(this.#turn);
    if (!Array.isArray(item)) return { what: 'nothing' };
    const stored = item[0] === 'message' && typeof item[2] === 'string' ? this.#recording.find(item[2]) : undefined;
    const opened = this.#player.opened(Number(item[1]));
    return { what: `${describeItem(item)} (${opened})`, message: stored && this.#reported(stored.message, true) };
  }

  /** @param recorded whether the message is from the recording, not from the replay */
  #reported(message: WireMessage, recorded: boolean): ReplayedMessage {
    const {
      [HEADER.source]: source,
      [HEADER.epoch]: epoch,
      [HEADER.seq]: number,
      [HEADER.type]: type,
    } = message.headers;
    const id = `${source ?? ''}.${epoch ?? ''}.${number ?? ''}`;
    return {
      id,
      seq: recorded ? this.#recording.find(id)?.seq : undefined,
      subject: message.subject,
      type: type ?? '',
      payload: parse(message.data),
    };
  }

  #id(number: number): string {
    return `${this.#life.instance}.${this.#life.epoch}.${number}`;
  }
}
