import type { Bus } from '@kubus/bus';
import { CgroupReader, cgroupMounts } from '@kubus/cgroup';
import type { RuntimePod } from '@kubus/contracts';
import type { MetricFamily } from '@kubus/metrics';
import {
  type ContainerReading,
  type FileSystemReading,
  type NodeReading,
  type PodReading,
  RowLabels,
  cadvisorMetrics,
  resourceMetrics,
  statsSummary,
} from '@kubus/node-metrics';
import { type Clock, type Logger, toError } from '@kubus/ports';
import type { NodeConfig } from '@kubus/service-kit';
import { dirname } from 'node:path';
import { Cached } from './cached.ts';
import { HostFigures, type HostPlaces } from './host-figures.ts';
import { type NodeSample, NodeSampler, type SystemCgroup } from './node-sampler.ts';
import {
  type LayerUses,
  type RuntimeFileSystems,
  type StorageUse,
  type VolumeReadings,
  layerUses,
  runtimeFileSystems,
  volumeReadings,
} from './storage-figures.ts';

export interface NodeStatisticsOptions {
  readonly config: Pick<NodeConfig, 'node' | 'pods' | 'runtime' | 'systemCgroups'>;
  readonly bus: Bus;
  /** The pods that the runtime has. */
  readonly pods: () => Iterable<RuntimePod>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long what is known of the layers of containers is valid, in milliseconds. Default: a minute. */
  readonly layersMs?: number;
  /** Omitted: this process sees the machine's files at the machine's paths. */
  readonly places?: HostPlaces;
}

/** How long the runtime's figures of its file systems are valid, in milliseconds. */
const FILE_SYSTEMS_MS = 10_000;

/**
 * The same for the layers of containers: for these the runtime calls every container's shim, which takes more CPU than the rest of
 * a summary together.
 */
const LAYERS_MS = 60_000;

/** volume-manager itself measures once a minute. */
const VOLUMES_MS = 30_000;

/** How long an answer of another process may take, in milliseconds; a later one is left out. */
const ANSWER_MS = 5_000;

const machinePlaces: HostPlaces = { proc: '/proc', root: '' };

interface Storage {
  readonly runtime: RuntimeFileSystems | undefined;
  readonly layers: LayerUses | undefined;
  readonly volumes: VolumeReadings | undefined;
}

/** What the node and its pods use (behaviour:qos-and-cgroups and behaviour:metrics): read on request. */
export class NodeStatistics {
  readonly #options: NodeStatisticsOptions;
  readonly #sampler: NodeSampler;
  readonly #host: HostFigures;
  readonly #runtime: Cached<RuntimeFileSystems>;
  readonly #layers: Cached<LayerUses>;
  readonly #volumes: Cached<VolumeReadings>;
  readonly #labels = new RowLabels();

  private constructor(options: NodeStatisticsOptions, cgroups: CgroupReader) {
    const { bus, clock, config, pods, logger, places = machinePlaces } = options;
    this.#options = options;
    this.#host = new HostFigures(places, clock);
    this.#sampler = new NodeSampler({
      ...{ clock, cgroups, host: this.#host, pods },
      system: systemCgroups(config.systemCgroups),
    });
    const failed = (what: string) => (error: unknown) => logger.warn({ err: toError(error) }, what);
    this.#runtime = new Cached({
      ...{ clock, countsMs: FILE_SYSTEMS_MS, waitMs: ANSWER_MS, ask: () => runtimeFileSystems(bus, clock) },
      failed: failed('reading image file system usage from the runtime failed'),
    });
    this.#layers = new Cached({
      ...{ clock, countsMs: options.layersMs ?? LAYERS_MS, waitMs: ANSWER_MS, ask: () => layerUses(bus, clock) },
      failed: failed('reading container layer usage from the runtime failed'),
    });
    this.#volumes = new Cached({
      ...{ clock, countsMs: VOLUMES_MS, waitMs: ANSWER_MS, ask: () => volumeReadings(bus) },
      failed: failed('reading volume usage from volume-manager failed'),
    });
  }

  static async start(options: NodeStatisticsOptions): Promise<NodeStatistics> {
    const { pods, runtime } = options.config;
    const mounts = await cgroupMounts();
    return new NodeStatistics(
      options,
      new CgroupReader({ root: runtime.cgroupRoot, driver: pods.cgroupDriver, mounts }),
    );
  }

  /** What every pod uses now, with layers, logs and volumes as far as those who have them answer in time. */
  async pods(): Promise<readonly PodReading[]> {
    const [sample, storage] = await Promise.all([this.#sampler.sample('pressure'), this.#storage()]);
    return this.#withStorage(this.#reading(sample), storage).pods;
  }

  /** The document of `/stats/summary`. */
  async summary(onlyCpuAndMemory: boolean): Promise<object> {
    const storage = onlyCpuAndMemory ? undefined : this.#storage();
    const sample = await this.#sampler.sampleWithRates('pressure');
    const reading = this.#reading(sample);
    return statsSummary(storage === undefined ? reading : this.#withStorage(reading, await storage), {
      onlyCpuAndMemory,
    });
  }

  /** The families of `/metrics/resource`. */
  async resource(): Promise<MetricFamily[]> {
    return resourceMetrics(this.#reading(await this.#sampler.sample('usage')));
  }

  /** The families of `/metrics/cadvisor`. */
  async cadvisor(): Promise<MetricFamily[]> {
    const [sample, runtime] = await Promise.all([this.#sampler.sample('all'), this.#runtime.get()]);
    const places = [this.#options.config.pods.root, runtime?.images?.mountpoint, runtime?.containers?.mountpoint];
    const devices = this.#host.devices(places.filter((place) => place !== undefined));
    return cadvisorMetrics({ ...this.#reading(sample), devices }, this.#labels);
  }

  /** Closes what is open. */
  stop(): Promise<void> {
    return this.#sampler.stop();
  }

  #reading(sample: NodeSample): NodeReading {
    return { name: this.#options.config.node, devices: [], ...sample };
  }

  async #storage(): Promise<Storage> {
    const [runtime, layers, volumes] = await Promise.all([
      this.#runtime.get(),
      this.#layers.get(),
      this.#volumes.get(),
    ]);
    return { runtime, layers, volumes };
  }

  #withStorage(reading: NodeReading, { runtime, layers, volumes }: Storage): NodeReading {
    const { config } = this.#options;
    // The layers of a runtime are usually in one file system, and so are logs.
    const known = new Map<string, FileSystemReading | undefined>();
    const fileSystem = (path: string) => {
      if (!known.has(path)) known.set(path, this.#host.fileSystem(path));
      return known.get(path);
    };
    const used = (part: StorageUse | undefined) => {
      const fs = part && fileSystem(part.mountpoint);
      return fs && { ...fs, atMs: part.atMs, usedBytes: part.usedBytes, inodesUsed: part.inodesUsed };
    };
    const logsFs = fileSystem(config.pods.logs);
    const container = (one: ContainerReading): ContainerReading => {
      const path = one.logPath;
      const logs = path === '' ? undefined : this.#host.folder(dirname(path));
      return { ...one, rootfs: used(layers?.get(one.id)), logs: logsFs && logs && { ...logsFs, ...logs } };
    };
    const pod = (one: PodReading): PodReading => ({
      ...one,
      containers: one.containers.map(container),
      volumes: volumes?.get(one.ref.uid) ?? [],
    });
    return {
      ...reading,
      fs: fileSystem(config.pods.root),
      imageFs: used(runtime?.images),
      containerFs: used(runtime?.containers),
      processes: this.#host.processes(),
      pods: reading.pods.map(pod),
    };
  }
}

function systemCgroups({ kubelet, kubeletStartedAtMs, runtime, misc }: NodeConfig['systemCgroups']): SystemCgroup[] {
  const all: SystemCgroup[] = [
    { name: 'kubelet', path: kubelet, startedAtMs: kubeletStartedAtMs },
    { name: 'runtime', path: runtime },
    { name: 'misc', path: misc },
  ];
  return all.flatMap((one) =>
    one.path === '' ? [] : { ...one, path: one.path.startsWith('/') ? one.path : `/${one.path}` },
  );
}
