import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type Command,
  type NodeDir,
  type StartedProcess,
  endProcesses,
  runCommand,
  startProcess,
} from '@kubus/launcher';
import { type ContainerLabels, type Labels, openContainerLabels } from './container-labels.ts';
import { HarnessError } from './errors.ts';
import { type ContainerRuns, type RuntimeEvent, containerOf, containerRuns, parseEvents } from './runtime-events.ts';

/** The runs of one container or sandbox, with the labels that say whose it is. */
export interface LabelledRuns extends ContainerRuns {
  /** Empty when the container was gone before it could be asked about. */
  readonly labels: Labels;
}

export interface EventLogOptions {
  readonly dir: NodeDir;
  readonly socket: string;
  /** The client that came with that containerd. */
  readonly ctr: string;
}

const markerLabel = 'kubus-test-marker';
/** For what a busy machine may delay, but not keep back. */
const limitMs = 30_000;
const markAgainMs = 200;

/**
 * containerd's own event log from the first pod on, written to a file by a process of its own: the truth about what was
 * started, whoever asked for it.
 */
export class EventLog {
  readonly file: string;
  readonly #ctr: Command;
  readonly #dir: NodeDir;
  #recorder: StartedProcess;
  readonly #handle: FileHandle;
  readonly #watcher: FSWatcher;
  readonly #containers: ContainerLabels;
  readonly #events: RuntimeEvent[] = [];
  readonly #labels = new Map<string, Promise<Labels | undefined>>();
  readonly #listeners = new Set<(event: RuntimeEvent) => void>();
  readonly #decoder = new StringDecoder('utf8');
  #unfinished = '';
  #reading = Promise.resolve();
  #markers = 0;

  /** Starts recording; what happens after this resolves is recorded. */
  static async record({ dir, socket, ctr }: EventLogOptions): Promise<EventLog> {
    const file = join(dir.logs, 'containerd-events.log');
    const client: Command = [ctr, '--address', socket];
    const recorder = await startRecorder(dir, client, file);
    const log = new EventLog(dir, client, recorder, await open(file), file, openContainerLabels(socket));
    try {
      await log.settled();
    } catch (error) {
      await log.stop();
      throw error;
    }
    return log;
  }

  private constructor(
    dir: NodeDir,
    ctr: Command,
    recorder: StartedProcess,
    handle: FileHandle,
    file: string,
    containers: ContainerLabels,
  ) {
    this.#dir = dir;
    this.#ctr = ctr;
    this.#recorder = recorder;
    this.#handle = handle;
    this.file = file;
    this.#containers = containers;
    this.#watcher = watch(file, () => this.#read());
    this.#read();
  }

  /** Goes on recording after containerd was started again, which ends every recorder. What happened between is missing. */
  async resume(): Promise<void> {
    await endProcesses([this.#recorder.record], limitMs);
    this.#recorder = await startRecorder(this.#dir, this.#ctr, this.file);
    await this.settled();
  }

  /** Everything recorded so far. */
  get events(): readonly RuntimeEvent[] {
    return this.#events;
  }

  /**
   * Every event that containerd published before the call. Events keep their order, so this makes one and waits for it.
   *
   * @throws HarnessError `EventMissing` when it does not come within 30 s.
   */
  async settled(): Promise<readonly RuntimeEvent[]> {
    const marker = String(++this.#markers);
    const seen = this.waitFor(
      ({ topic, payload }) =>
        topic === '/namespaces/update' && (payload['labels'] as Labels | undefined)?.[markerLabel] === marker,
    ).then(() => true);
    seen.catch(() => undefined);
    do {
      // More than once, since a recorder that has just been started subscribes at a moment of its own.
      await runCommand([...this.#ctr, 'namespaces', 'label', 'k8s.io', `${markerLabel}=${marker}`]);
    } while (!(await Promise.race([seen, wait(markAgainMs, false)])));
    return this.#events;
  }

  /**
   * The first event that `matches`, recorded already or coming within 30 s.
   *
   * @throws HarnessError `EventMissing`.
   */
  async waitFor(matches: (event: RuntimeEvent) => boolean): Promise<RuntimeEvent> {
    return this.#events.find(matches) ?? this.#next(matches);
  }

  /** The starts and exits of every container and sandbox so far. */
  async runs(): Promise<LabelledRuns[]> {
    const runs = containerRuns(await this.settled());
    return Promise.all(runs.map(async (run) => ({ ...run, labels: (await this.#labels.get(run.id)) ?? {} })));
  }

  /** Ends the recording and lets go of the file; what was recorded can still be read. */
  async stop(): Promise<void> {
    this.#watcher.close();
    await endProcesses([this.#recorder.record], limitMs);
    await this.#reading;
    this.#containers.close();
    await this.#handle.close();
  }

  async #next(matches: (event: RuntimeEvent) => boolean): Promise<RuntimeEvent> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(limit);
        this.#listeners.delete(listener);
        settle();
      };
      const listener = (event: RuntimeEvent) => {
        if (matches(event)) {
          end(() => resolve(event));
        }
      };
      const missing = new HarnessError('EventMissing', `No such event within ${limitMs / 1000} s; see ${this.file}`);
      const limit = setTimeout(() => end(() => reject(missing)), limitMs);
      this.#listeners.add(listener);
    });
  }

  /** Takes what has been added to the file; one reading at a time. */
  #read(): void {
    this.#reading = this.#reading.then(async () => {
      for (let text = await this.#readChunk(); text !== ''; text = await this.#readChunk()) {
        const whole = text.lastIndexOf('\n') + 1;
        const rest = this.#unfinished;
        this.#unfinished = whole === 0 ? rest + text : text.slice(whole);
        parseEvents(whole === 0 ? '' : rest + text.slice(0, whole)).forEach((event) => this.#take(event));
      }
    });
  }

  async #readChunk(): Promise<string> {
    const { buffer, bytesRead } = await this.#handle.read();
    return this.#decoder.write(buffer.subarray(0, bytesRead));
  }

  #take(event: RuntimeEvent): void {
    const id = containerOf(event);
    if (id !== undefined && event.topic === '/containers/create') {
      this.#labels.set(id, this.#containers.of(id));
    }
    this.#events.push(event);
    this.#listeners.forEach((listener) => listener(event));
  }
}

async function startRecorder(dir: NodeDir, ctr: Command, log: string): Promise<StartedProcess> {
  return startProcess({ dir, what: 'event-log', command: [...ctr, 'events'], log });
}
