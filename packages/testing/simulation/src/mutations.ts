import {
  Bus,
  type BusOptions,
  type CommandEntry,
  CommandServer,
  type CommandServerOptions,
  type CommandWindow,
  type Delivery,
  DirectDelivery,
  type DirectDeliveryOptions,
  type FactHandlers,
  type FactReader,
} from '@kubus/bus';
import { type FactDeclaration, type PodWork, podWork } from '@kubus/contracts';
import { EndedPods, type LedgerFiles } from '@kubus/node-agent/devices';
import type { Clock } from '@kubus/ports';
import type { Scheduler } from './scheduler.ts';
import type { OwnThings } from './simulated-machine.ts';
import type { Mutations } from './simulated-process.ts';

/** The commands of an earlier owner are not awaited, and commands of any sender are accepted. */
class UnfencedServer extends CommandServer {
  readonly #windows = new Map<string, CommandWindow>();

  override fence(): Promise<void> {
    return Promise.resolve();
  }

  protected override fencedWindow(
    pod: string,
    { source }: { source: string },
    { token }: { token: number },
  ): CommandWindow {
    const id = `${pod} ${source} ${token}`;
    const window = this.#windows.get(id) ?? { source, term: 0, token, low: 1, entries: new Map() };
    this.#windows.set(id, window);
    return window;
  }
}

/** A command that arrives twice is carried out twice. */
class ForgetfulServer extends CommandServer {
  protected override known(): CommandEntry | 'read' | undefined {
    return undefined;
  }
}

/** The facts that are stored when a reader connects are taken for the complete set. */
class HastyBus extends Bus {
  override reader<T>(declaration: FactDeclaration<T>, handlers: FactHandlers<T> = {}): FactReader<T> {
    const reader = super.reader(declaration, { ...handlers, complete: undefined });
    const cause = { id: 'none', traceId: '0'.repeat(32), spanId: '0'.repeat(16) };
    void reader.whenPresent().then(() => handlers.complete?.('anybody', 1, cause));
    return reader;
  }
}

/** Of the messages that are on their way at the same time, the last one arrives first. */
class ReorderingDelivery extends DirectDelivery {
  protected override take(): Delivery[] {
    return super.take().reverse();
  }
}

/** What is written is on the disk some time after it was answered. */
class HastyLedger implements LedgerFiles {
  readonly #files: LedgerFiles;

  constructor(files: LedgerFiles) {
    this.#files = files;
  }

  read(): ReturnType<LedgerFiles['read']> {
    return this.#files.read();
  }

  writeCpus(ledger: Parameters<LedgerFiles['writeCpus']>[0]): Promise<void> {
    void this.#files.writeCpus(ledger);
    return Promise.resolve();
  }

  writeMemory(ledger: Parameters<LedgerFiles['writeMemory']>[0]): Promise<void> {
    void this.#files.writeMemory(ledger);
    return Promise.resolve();
  }
}

/** How long after its answer a write of the API server is in its file, in milliseconds. */
const API_FILE_LATE_MS = 50;

/** A pod that is to end needs nothing any more, as if it had ended. */
class HastyEnds extends EndedPods {
  readonly #works: FactReader<PodWork>;

  constructor(bus: Bus, clock: Clock) {
    super(bus, clock);
    this.#works = bus.reader(podWork, { lazy: true });
  }

  override has(uid: string): boolean {
    const { work = 'sync' } = this.#works.get(uid)?.value ?? {};
    return work !== 'sync' || super.has(uid);
  }
}

const withServer =
  (make: (options: CommandServerOptions) => CommandServer) =>
  (options: BusOptions): Bus =>
    new Bus({ ...options, server: make });

/** The mechanisms that make the node correct, each removed on its own. */
export const mutations = {
  'without the fence': { makeBus: withServer((options) => new UnfencedServer(options)) },
  'without the deduplication': { makeBus: withServer((options) => new ForgetfulServer(options)) },
  'without the order of direct delivery': {
    makeDirect: (options: DirectDeliveryOptions) => new ReorderingDelivery(options),
  },
  'without the wait for the ledger': { makeLedger: (files: LedgerFiles) => new HastyLedger(files) },
  'without the wait for the end of containers': { makeEnded: (bus: Bus, clock: Clock) => new HastyEnds(bus, clock) },
  'without the CPUs of pods as a whole': {
    makeOwnThings: (things: OwnThings) => ({ ...things, podLevel: 'container' }),
  },
  'without the durable answer of the API server': {
    makeApiFile: (scheduler: Scheduler) => (write: () => void) => void scheduler.after(API_FILE_LATE_MS, write),
  },
  'without the completion mark': { makeBus: (options: BusOptions) => new HastyBus(options) },
} satisfies Record<string, Mutations>;
