import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PluginProcess } from './plugin-process.ts';

export type DeviceMethod = 'options' | 'list' | 'preferred' | 'allocate' | 'preStart' | 'register';

/** A device as the plugin lists it. */
export interface TestDevice {
  readonly id: string;
  /** Default: true. */
  readonly healthy?: boolean;
  readonly numaNodes?: readonly number[];
}

export interface DevicePluginSetup {
  /** Such as `example.com/device`. */
  readonly resource: string;
  /** The node's `device-plugins`, where the plugin registers itself and has its socket. */
  readonly folder: string;
  /** The node's `plugins_registry`: it registers there instead. */
  readonly registry?: string;
  readonly devices: readonly TestDevice[];
  readonly version?: string;
  readonly preStart?: boolean;
  /** Devices that it prefers, the best first. Default: the plugin does not offer GetPreferredAllocation. */
  readonly preferred?: readonly string[];
  /** A file of the machine that containers get at `/test-device/<resource's last part>`. */
  readonly mount?: string;
}

/** A fault for the next calls of a method. */
export interface DeviceDisturbance {
  readonly method: DeviceMethod;
  /** `hang`: until {@link TestDevicePlugin.release}. `die`: the process ends without an answer. */
  readonly what: 'fail' | 'hang' | 'die';
  /** How many calls. Default: 1. */
  readonly times?: number;
}

export interface DeviceCall {
  readonly method: DeviceMethod;
  readonly request: Readonly<Record<string, unknown>>;
}

/** What the process reports. */
export type DevicePluginWord =
  | { readonly word: 'call'; readonly call: DeviceCall }
  /** The error of its registration; empty when it was accepted. */
  | { readonly word: 'registered'; readonly error: string };

/** What the test sends to the process. */
export type DevicePluginOrder =
  | { readonly order: 'disturb'; readonly disturbance: DeviceDisturbance }
  | { readonly order: 'devices'; readonly devices: readonly TestDevice[] }
  | { readonly order: 'release' | 'endList' | 'register' | 'listen' };

/**
 * A device plugin for tests: a process that serves the real gRPC contract, registers itself whenever the node's socket is
 * created again, and fails as the test asks it to. A container with its devices has `/dev/<id>`, which is the host's
 * /dev/null, their ids in `TEST_DEVICES`, and the annotation `test.kubus/devices`.
 */
export class TestDevicePlugin {
  readonly setup: DevicePluginSetup;
  /** Every call so far, across restarts of the process. */
  readonly calls: DeviceCall[] = [];
  /** The node's error for each registration; empty when it was accepted. */
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
      onMessage: (word) => {
        if (word.word === 'call') this.calls.push(word.call);
        else this.registrations.push(word.error);
      },
    });
  }

  live(): Promise<void> {
    return this.#process.live();
  }

  /** Resolves when `condition` holds; it is checked after each message of the process. */
  until(condition: () => boolean): Promise<void> {
    return this.#process.until(condition);
  }

  /** Resolves when the node has accepted its registration `times` times, across restarts. */
  untilRegistered(times = 1): Promise<void> {
    return this.until(() => this.registrations.filter((error) => error === '').length >= times);
  }

  /** Requests of all calls of one method that have been answered, or are being answered. */
  async requests(method: DeviceMethod): Promise<DeviceCall['request'][]> {
    // The answer to a call may arrive before the report of it.
    if (this.#process.running) await this.#process.order({ order: 'listen' });
    return this.calls.filter((call) => call.method === method).map(({ request }) => request);
  }

  disturb(disturbance: DeviceDisturbance): Promise<void> {
    return this.#process.order({ order: 'disturb', disturbance });
  }

  /** Lists these devices from now on. */
  setDevices(devices: readonly TestDevice[]): Promise<void> {
    return this.#process.order({ order: 'devices', devices });
  }

  /** Continues hanging calls. */
  release(): Promise<void> {
    return this.#process.order({ order: 'release' });
  }

  /** Ends the stream of devices (ListAndWatch); the process keeps running. */
  endList(): Promise<void> {
    return this.#process.order({ order: 'endList' });
  }

  /** Registers once more. */
  register(): Promise<void> {
    return this.#process.order({ order: 'register' });
  }

  /** Kills the process: its sockets stay. */
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
