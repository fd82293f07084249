import { execFile } from 'node:child_process';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hasErrno } from '@kubus/ports';
import type { NodeServiceCapability_RPC_Type as NodeCapability } from '@kubus/proto/csi-grpc';
import { PluginProcess } from './plugin-process.ts';

const run = promisify(execFile);

export type CsiMethod = 'stage' | 'unstage' | 'publish' | 'unpublish' | 'expand' | 'stats' | 'capabilities' | 'info';

export interface CsiDriverSetup {
  readonly name: string;
  /** The driver's own folder: its volumes, its records, its socket. */
  readonly folder: string;
  /** Where it registers: the node's `plugins_registry`. */
  readonly registry: string;
  readonly capabilities?: readonly NodeCapability[];
  /** What it reports when it registers. */
  readonly type?: string;
  readonly versions?: readonly string[];
  readonly topology?: Readonly<Record<string, string>>;
  readonly maxVolumes?: number;
}

/** A fault for the next calls of a method. */
export interface CsiDisturbance {
  readonly method: CsiMethod;
  /** `hang`: until {@link TestCsiDriver.release}. `die`: the process ends without an answer. */
  readonly what: 'fail' | 'hang' | 'die';
  /** Of `fail`: the gRPC status, such as `INTERNAL`. */
  readonly code?: string;
  /** The call takes effect before the fault. Default: false. */
  readonly done?: boolean;
  /** How many calls. Default: 1. */
  readonly times?: number;
}

/** A call that the driver has received, with its secrets. */
export interface CsiCall {
  readonly method: CsiMethod;
  readonly request: Readonly<Record<string, unknown>>;
}

/** What the driver has recorded as staged and published; it survives a kill. */
export interface CsiBooks {
  /** Staging path by volume. */
  readonly staged: Readonly<Record<string, string>>;
  /** Volume by the path that it is published at. */
  readonly published: Readonly<Record<string, string>>;
  /** Loop device by block volume. */
  readonly devices: Readonly<Record<string, string>>;
}

/** What the process reports. */
export type CsiDriverWord =
  | { readonly word: 'call'; readonly call: CsiCall }
  | { readonly word: 'registered'; readonly registered: boolean; readonly error: string };

/** What the test sends to the process. */
export type CsiDriverOrder =
  { readonly order: 'disturb'; readonly disturbance: CsiDisturbance } | { readonly order: 'release' | 'forget' };

/**
 * A CSI driver for tests: a process that serves the real gRPC contract and really mounts, and fails as the test asks it
 * to. A volume is a folder of the driver's own (a file on a loop device for block volumes) that is created on first use.
 */
export class TestCsiDriver {
  readonly setup: CsiDriverSetup;
  /** Every call so far, across restarts of the process. */
  readonly calls: CsiCall[] = [];
  /** The node's answer to each registration. */
  readonly registrations: { readonly registered: boolean; readonly error: string }[] = [];
  readonly #process: PluginProcess<CsiDriverWord, CsiDriverOrder>;

  static async start(setup: CsiDriverSetup): Promise<TestCsiDriver> {
    const driver = new TestCsiDriver(setup);
    await mkdir(join(setup.folder, 'volumes'), { recursive: true });
    await mkdir(setup.registry, { recursive: true });
    await driver.live();
    return driver;
  }

  private constructor(setup: CsiDriverSetup) {
    this.setup = setup;
    this.#process = new PluginProcess({
      name: setup.name,
      program: 'csi-driver-process.ts',
      setup,
      onMessage: (word) => {
        if (word.word === 'call') this.calls.push(word.call);
        else this.registrations.push({ registered: word.registered, error: word.error });
      },
    });
  }

  /** Starts the process; waits first for the end of one that is dying. */
  live(): Promise<void> {
    return this.#process.live();
  }

  get running(): boolean {
    return this.#process.running;
  }

  /** Names of the methods called so far, and the volume of each; without calls about the driver itself. */
  get story(): string[] {
    const about = this.calls.filter(({ method }) => method !== 'capabilities' && method !== 'info');
    return about.map(({ method, request }) => `${method} ${String(request['volumeId'])}`);
  }

  /** Resolves when `condition` holds; it is checked after each message of the process. */
  until(condition: () => boolean): Promise<void> {
    return this.#process.until(condition);
  }

  /** Resolves at the next call of this method. */
  async untilCalled(method: CsiMethod): Promise<CsiCall> {
    const from = this.calls.length;
    const find = () => this.calls.slice(from).find((call) => call.method === method);
    await this.until(() => find() !== undefined);
    return find() ?? this.untilCalled(method);
  }

  disturb(disturbance: CsiDisturbance): Promise<void> {
    return this.#process.order({ order: 'disturb', disturbance });
  }

  /** Continues hanging calls. */
  release(): Promise<void> {
    return this.#process.order({ order: 'release' });
  }

  /** Makes the driver forget all volumes; its mounts stay. */
  forget(): Promise<void> {
    return this.#process.order({ order: 'forget' });
  }

  async books(): Promise<CsiBooks> {
    try {
      return JSON.parse(await readFile(join(this.setup.folder, 'books.json'), 'utf8')) as CsiBooks;
    } catch (error) {
      if (hasErrno(error, 'ENOENT')) return { staged: {}, published: {}, devices: {} };
      throw error;
    }
  }

  /** Ends the process like an update: its sockets are removed. */
  stop(): Promise<void> {
    return this.#process.end('SIGTERM');
  }

  /** Kills the process: its sockets stay. */
  kill(): Promise<void> {
    return this.#process.end('SIGKILL');
  }

  /** Ends the process and removes its files; the test has to undo mounts first. */
  async remove(): Promise<void> {
    await this.kill();
    const { devices } = await this.books();
    for (const device of Object.values(devices)) await run('losetup', ['-d', device]).catch(() => undefined);
    await rm(join(this.setup.registry, `${this.setup.name}-reg.sock`), { force: true });
    await rm(this.setup.folder, { recursive: true, force: true });
  }
}
