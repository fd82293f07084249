import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { connect } from 'node:net';
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
import { listRuns } from './listed-runs.ts';
import { poll } from './poll.ts';
import { type ContainerRuns, type RuntimeEvent, containerOf, containerRuns, parseEvents } from './runtime-events.ts';

/** The runs of one container or sandbox, with the labels that name its pod. */
export interface LabelledRuns extends ContainerRuns {
  /** Empty when the container was removed before its labels could be read. */
  readonly labels: Labels;
}

export interface EventLogOptions {
  readonly dir: NodeDir;
  readonly socket: string;
  /** The `ctr` of that containerd. */
  readonly ctr: string;
}

const markerLabel = 'kubus-test-marker';
/** Time limit that allows for a busy machine, in milliseconds. */
const limitMs = 30_000;
const markAgainMs = 200;
/** Interval of checks whether containerd is running again, in milliseconds. */
const lookMs = 10;

/**
 * containerd's own event log from the first pod on, written to a file by a separate process: the authoritative record of
 * starts, whichever service requested them. A recorder ends with containerd; the next one starts as soon as containerd runs
 * again. Events in between are derived from containerd's lists.
 */
export class EventLog {
  readonly file: string;
  readonly #ctr: Command;
  readonly #dir: NodeDir;
  readonly #socket: string;
  #recorder: StartedProcess;
  readonly #handle: FileHandle;
  readonly #watcher: FSWatcher;
  readonly #containers: ContainerLabels;
  readonly #events: RuntimeEvent[] = [];
  readonly #labels = new Map<string, Promise<Labels | undefined>>();
  readonly #listeners = new Set<(event: RuntimeEvent) => void>();
  readonly #decoder = new StringDecoder('utf8');
  /** Runs that a restarted containerd has listed, by id. */
  readonly #listed = new Map<string, LabelledRuns>();
  readonly #following: Promise<void>;
  #listing = Promise.resolve();
  #stopped = false;
  #unfinished = '';
  #reading = Promise.resolve();
  #markers = 0;

  /** Starts recording; what happens after this resolves is recorded. */
  static async record({ dir, socket, ctr }: EventLogOptions): Promise<EventLog> {
    const file = join(dir.logs, 'containerd-events.log');
    const client: Command = [ctr, '--address', socket];
    const recorder = await startRecorder(dir, client, file);
    const containers = openContainerLabels(socket);
    const log = new EventLog({ dir, socket, client, recorder, handle: await open(file), file, containers });
    try {
      await log.settled();
    } catch (error) {
      await log.stop();
      throw error;
    }
    return log;
  }

  private constructor(parts: {
    dir: NodeDir;
    socket: string;
    client: Command;
    recorder: StartedProcess;
    handle: FileHandle;
    file: string;
    containers: ContainerLabels;
  }) {
    this.#dir = parts.dir;
    this.#socket = parts.socket;
    this.#ctr = parts.client;
    this.#recorder = parts.recorder;
    this.#handle = parts.handle;
    this.file = parts.file;
    this.#containers = parts.containers;
    this.#watcher = watch(this.file, () => this.#read());
    this.#read();
    this.#following = this.#follow();
  }

  /** Everything recorded so far. */
  get events(): readonly RuntimeEvent[] {
    return this.#events;
  }

  /**
   * Every event that containerd published before the call. Events are ordered, so this causes one and waits for it, and also
   * for a restarting containerd.
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
      // Repeated, since it is unknown when a new recorder has subscribed.
      const label = [...this.#ctr, 'namespaces', 'label', 'k8s.io', `${markerLabel}=${marker}`] as const;
      await runCommand(label).catch(() => undefined);
    } while (!this.#stopped && !(await Promise.race([seen, wait(markAgainMs, false)])));
    return this.#events;
  }

  /**
   * The first event that `matches`, already recorded or within 30 s.
   *
   * @throws HarnessError `EventMissing`.
   */
  async waitFor(matches: (event: RuntimeEvent) => boolean): Promise<RuntimeEvent> {
    return this.#events.find(matches) ?? this.#next(matches);
  }

  /** The starts and exits of every container and sandbox so far. */
  async runs(): Promise<LabelledRuns[]> {
    const events = await this.settled();
    await this.#listing;
    const runs = containerRuns(events, this.#listed);
    const recorded = await Promise.all(
      runs.map(async (run) => {
        const listed = this.#listed.get(run.id);
        const labels = (await this.#labels.get(run.id)) ?? listed?.labels ?? {};
        return { ...run, exitedAt: run.exitedAt ?? listed?.exitedAt, labels };
      }),
    );
    const known = new Set(runs.map(({ id }) => id));
    const others = [...this.#listed.values()].filter(({ id }) => !known.has(id));
    return [...recorded, ...others].sort((a, b) => a.startedAt - b.startedAt);
  }

  /** Ends the recording and closes the file; what was recorded can still be read. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watcher.close();
    await endProcesses([this.#recorder.record], limitMs);
    await this.#following;
    await this.#reading;
    this.#containers.close();
    await this.#handle.close();
  }

  async #follow(): Promise<void> {
    for (;;) {
      await this.#recorder.exited;
      if (!(await this.#containerdAgain())) return;
      // It fails when containerd has ended once more.
      const next = await startRecorder(this.#dir, this.#ctr, this.file).catch(() => undefined);
      if (next === undefined) continue;
      this.#recorder = next;
      if (this.#stopped) await endProcesses([next.record], limitMs);
      this.#listing = this.#list();
      // The next call for the runs reports it.
      this.#listing.catch(() => undefined);
    }
  }

  /** Waits until containerd listens; false when the recording was stopped meanwhile. */
  async #containerdAgain(): Promise<boolean> {
    while (!this.#stopped) {
      if (await accepts(this.#socket)) return true;
      await wait(lookMs);
    }
    return false;
  }

  /** Reads the events of the time without a recorder. */
  async #list(): Promise<void> {
    await this.settled();
    const runs = await poll('what containerd lists', () =>
      this.#stopped ? Promise.resolve([]) : listRuns(this.#socket).catch(() => undefined),
    );
    for (const run of runs) this.#listed.set(run.id, run);
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

  /** Reads what has been added to the file; one read at a time. */
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
    // A recorder that has just started may have missed the creation of what is started, or containerd may have been killed before it answered.
    if (id !== undefined && (event.topic === '/containers/create' || event.topic === '/tasks/start')) {
      const asked = this.#labels.get(id) ?? Promise.resolve(undefined);
      this.#labels.set(
        id,
        asked.then((labels) => labels ?? this.#containers.of(id)),
      );
    }
    this.#events.push(event);
    this.#listeners.forEach((listener) => listener(event));
  }
}

/** Whether a process listens there. */
function accepts(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    const end = (listens: boolean) => () => {
      connection.destroy();
      resolve(listens);
    };
    connection.once('connect', end(true)).once('error', end(false));
  });
}

async function startRecorder(dir: NodeDir, ctr: Command, log: string): Promise<StartedProcess> {
  return startProcess({ dir, what: 'event-log', command: [...ctr, 'events'], log });
}
