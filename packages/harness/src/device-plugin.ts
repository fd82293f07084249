import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PluginProcess } from './plugin-process.ts';

export type DeviceMethod = 'options' | 'list' | 'preferred' | 'allocate' | 'preStart' | 'register';

/** A device as the plugin tells of it. */
export interface TestDevice {
  readonly id: string;
  /** Left out: yes. */
  readonly healthy?: boolean;
  readonly numaNodes?: readonly number[];
}

export interface DevicePluginSetup {
  /** Such as `example.com/device`. */
  readonly resource: string;
  /** The node's `device-plugins`, where the plugin registers itself and has its socket. */
  readonly folder: string;
  /** The node's `plugins_registry`: it makes itself known there instead. */
  readonly registry?: string;
  readonly devices: readonly TestDevice[];
  readonly version?: string;
  readonly preStart?: boolean;
  /** Devices that it prefers, the best first; left out: it can not be asked. */
  readonly preferred?: readonly string[];
  /** A file of the host that containers get at `/test-device/<resource's last part>`. */
  readonly mount?: string;
}

/** What goes wrong with the next calls of a method. */
export interface DeviceDisturbance {
  readonly method: DeviceMethod;
  /** `hang`: until {@link TestDevicePlugin.release}. `die`: the process is gone without a word. */
  readonly what: 'fail' | 'hang' | 'die';
  /** How many calls; 1 when left out. */
  readonly times?: number;
}

export interface DeviceCall {
  readonly method: DeviceMethod;
  readonly request: Readonly<Record<string, unknown>>;
}

/** What the process tells. */
export type DevicePluginWord =
  | { readonly word: 'call'; readonly call: DeviceCall }
  /** What came of its registration; empty: it is registered. */
  | { readonly word: 'registered'; readonly error: string };

/** What the process is told. */
export type DevicePluginOrder =
  | { readonly order: 'disturb'; readonly disturbance: DeviceDisturbance }
  | { readonly order: 'devices'; readonly devices: readonly TestDevice[] }
  | { readonly order: 'release' | 'endList' | 'register' | 'listen' };

/**
 * A device plugin for tests: a process that serves the real gRPC contract, registers itself whenever the node's socket is
 * made anew, and does what the test wants to go wrong. A container with its devices has `/dev/<id>`, which is the host's
 * /dev/null, their ids in `TEST_DEVICES`, and the annotation `test.kubus/devices`.
 */
export class TestDevicePlugin {
  readonly setup: DevicePluginSetup;
  /** Every call so far, over all lives of the process. */
  readonly calls: DeviceCall[] = [];
  /** What the node has said to its registration, each time; empty: nothing is wrong. */
  readonly registrations: string[] = [];
  readonly #process: PluginProcess<DevicePluginWord, DevicePluginOrder>;

  /** Resolves when the process serves; it may not be registered yet. */
  static async start(setup: DevicePluginSetup): Promise<TestDevicePlugin> {
    const plugin = new TestDevicePlugin(setup);
    await mkdir(setup.folder, { recursive: true });
    await plugin.live();
    return plugin;
  }

  private constructor(setup: DevicePluginSetup) {
    this.setup = setup;
    this.#process = new PluginProcess({
      name: setup.resource,
      program: 'device-plugin-process.ts',
      setup,
      hear: (word) => {
        if (word.word === 'call') this.calls.push(word.call);
        else this.registrations.push(word.error);
      },
    });
  }

  live(): Promise<void> {
    return this.#process.live();
  }

  /** Resolves when `condition` holds; it is looked at after each word of the process. */
  until(condition: () => boolean): Promise<void> {
    return this.#process.until(condition);
  }

  /** Resolves when the node has taken it `times` times, over all of its lives. */
  untilRegistered(times = 1): Promise<void> {
    return this.until(() => this.registrations.filter((error) => error === '').length >= times);
  }

  /** Requests of all calls of one method that have been answered, or are just being. */
  async requests(method: DeviceMethod): Promise<DeviceCall['request'][]> {
    // The answer to a call may be quicker than the word of it.
    if (this.#process.running) await this.#process.order({ order: 'listen' });
    return this.calls.filter((call) => call.method === method).map(({ request }) => request);
  }

  disturb(disturbance: DeviceDisturbance): Promise<void> {
    return this.#process.order({ order: 'disturb', disturbance });
  }

  /** Has these devices from now on. */
  setDevices(devices: readonly TestDevice[]): Promise<void> {
    return this.#process.order({ order: 'devices', devices });
  }

  /** Lets go on what hangs. */
  release(): Promise<void> {
    return this.#process.order({ order: 'release' });
  }

  /** Ends the list of devices; the process goes on. */
  endList(): Promise<void> {
    return this.#process.order({ order: 'endList' });
  }

  /** Registers once more. */
  register(): Promise<void> {
    return this.#process.order({ order: 'register' });
  }

  /** Ends the process without a word: its sockets stay. */
  kill(): Promise<void> {
    return this.#process.end('SIGKILL');
  }

  async remove(): Promise<void> {
    await this.kill();
    const name = socketName(this.setup.resource);
    for (const folder of [this.setup.folder, this.setup.registry ?? this.setup.folder]) {
      await rm(join(folder, name), { force: true });
    }
  }
}

/** @internal */
export function socketName(resource: string): string {
  return `${resource.replaceAll('/', '_')}.sock`;
}
