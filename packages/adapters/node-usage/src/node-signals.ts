import type { Bus } from '@kubus/bus';
import { CgroupReader, cgroupMounts } from '@kubus/cgroup';
import type { Disks, Observation, Observations } from '@kubus/eviction';
import type { FileSystemReading } from '@kubus/node-metrics';
import { type Clock, type Logger, toError } from '@kubus/ports';
import type { NodeConfig } from '@kubus/service-kit';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Cached } from './cached.ts';
import { HostFigures } from './host-figures.ts';
import { type RuntimeFileSystems, runtimeFileSystems } from './storage-figures.ts';

export interface NodeSignalsOptions {
  readonly config: Pick<NodeConfig, 'pods' | 'runtime'>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the node has left of everything that pods can exhaust. */
export interface SignalReading {
  readonly observations: Observations;
  /** Undefined until the runtime has reported where it keeps images. */
  readonly disks: Disks | undefined;
}

/** How long the runtime's answer where its file systems are is valid, in milliseconds: they move only with its configuration. */
const PLACES_MS = 60_000;

/** How long its answer may take, in milliseconds. */
const ANSWER_MS = 5_000;

/**
 * Reads the signals of behaviour:eviction: a few small files of the kernel and statfs(2), nothing of any pod, so that it can be
 * done often.
 */
export class NodeSignals {
  readonly #options: NodeSignalsOptions;
  readonly #host: HostFigures;
  readonly #cgroups: CgroupReader;
  readonly #memoryFolder: string;
  readonly #places: Cached<RuntimeFileSystems>;

  private constructor(options: NodeSignalsOptions, cgroups: CgroupReader, memoryFolder: string) {
    const { bus, clock, logger } = options;
    this.#options = options;
    this.#cgroups = cgroups;
    this.#memoryFolder = memoryFolder;
    this.#host = new HostFigures({ proc: '/proc', root: '' }, clock);
    this.#places = new Cached({
      ...{ clock, countsMs: PLACES_MS, waitMs: ANSWER_MS, ask: () => runtimeFileSystems(bus, clock) },
      failed: (error) => logger.warn({ err: toError(error) }, 'the runtime did not report its file systems'),
    });
  }

  static async start(options: NodeSignalsOptions): Promise<NodeSignals> {
    const { pods, runtime } = options.config;
    const mounts = await cgroupMounts();
    const cgroups = new CgroupReader({ root: runtime.cgroupRoot, driver: pods.cgroupDriver, mounts });
    return new NodeSignals(options, cgroups, mounts.controllers.get('memory') ?? '');
  }

  /** The control groups whose use of memory the signals of memory are about: their folders. */
  get memoryFolders(): { readonly 'memory.available': string; readonly 'allocatableMemory.available': string } {
    const [tier = '/'] = this.#cgroups.tiers();
    return {
      'memory.available': this.#memoryFolder,
      'allocatableMemory.available': join(this.#memoryFolder, tier),
    };
  }

  async read(): Promise<SignalReading> {
    const { root } = this.#options.config.pods;
    const { images, containers } = (await this.#places.get()) ?? {};
    const observations = {
      ...this.#memory(),
      ...ofFileSystem('nodefs', this.#host.fileSystem(root)),
      ...ofFileSystem('imagefs', images && this.#host.fileSystem(images.mountpoint)),
      ...ofFileSystem('containerfs', containers && this.#host.fileSystem(containers.mountpoint)),
      ...this.#processes(),
    };
    return { observations, disks: images && containers && disksOf(root, images.mountpoint, containers.mountpoint) };
  }

  /** Memory that is in use and cannot be reclaimed is not available: the working set, as the reference reports it. */
  #memory(): Observations {
    const atMs = this.#options.clock.now();
    const { memory: machine } = this.#host.machine();
    const all = this.#cgroups.read('/', 'usage', { machine });
    const [tier = '/'] = this.#cgroups.tiers();
    this.#cgroups.forgetSettings(tier);
    const pods = this.#cgroups.read(tier, 'usage');
    // It is made with the first pod: a file that was missing is asked for again.
    if (pods === undefined) this.#cgroups.release((path) => path !== tier);
    const { limitBytes, workingSetBytes = 0 } = pods?.memory ?? {};
    const ofPods = limitBytes === undefined ? undefined : observed(limitBytes, workingSetBytes, atMs);
    return {
      ...(all && { 'memory.available': observed(machine.limitBytes, all.memory.workingSetBytes, atMs) }),
      ...(ofPods && { 'allocatableMemory.available': ofPods }),
    };
  }

  #processes(): Observations {
    const processes = this.#host.processes();
    if (processes === undefined) return {};
    const { most, now, atMs } = processes;
    return { 'pid.available': { available: most - now, capacity: most, atMs } };
  }
}

function observed(limit: number, used: number, atMs: number): Observation {
  const available = Math.max(0, limit - used);
  return { available, capacity: available + used, atMs };
}

function ofFileSystem(name: 'nodefs' | 'imagefs' | 'containerfs', fs: FileSystemReading | undefined): Observations {
  if (fs === undefined) return {};
  const { atMs } = fs;
  return {
    [`${name}.available`]: { available: fs.availableBytes, capacity: fs.capacityBytes, atMs },
    [`${name}.inodesFree`]: { available: fs.inodesFree, capacity: fs.inodes, atMs },
  };
}

function disksOf(root: string, images: string, containers: string): Disks {
  const [node, image, container] = [root, images, containers].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.dev,
  );
  if (image !== container) return 'split';
  return image === node ? 'one' : 'images';
}
