import type { CgroupReader, ReadOptions } from '@kubus/cgroup';
import type { UsageDetail } from '@kubus/cgroup-config';
import type { RuntimePod } from '@kubus/contracts';
import {
  type CgroupReading,
  type ContainerReading,
  type CpuTime,
  type MachineReading,
  type NetworkReading,
  type PodReading,
  type ShownPod,
  type SystemPrograms,
  type SystemReading,
  isComparable,
  nanoCores,
  shownPods,
} from '@kubus/node-metrics';
import { type Cancel, type Clock, sleep } from '@kubus/ports';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HostFigures, OpenFiles } from './host-figures.ts';

export interface NodeSamplerOptions {
  readonly clock: Clock;
  readonly cgroups: CgroupReader;
  readonly host: HostFigures;
  readonly pods: () => Iterable<RuntimePod>;
  /** Programs that are not pods. Default: none. */
  readonly system?: readonly SystemCgroup[];
}

/** Where programs that are not pods run. */
export interface SystemCgroup {
  readonly name: SystemPrograms;
  readonly path: string;
  /** Milliseconds since the Unix epoch. Default: when the cgroup was made. */
  readonly startedAtMs?: number;
}

/** What was read of the node and its pods at one time. Containers have storage figures only where the caller adds them. */
export interface NodeSample {
  readonly detail: UsageDetail;
  readonly atMs: number;
  readonly machine: MachineReading;
  readonly root: CgroupReading;
  readonly tiers: readonly CgroupReading[];
  readonly system: readonly SystemReading[];
  readonly network: NetworkReading | undefined;
  readonly pods: readonly PodReading[];
}

/** A sample younger than this is used again, in milliseconds. */
const FRESH_MS = 2_000;

/** The interval between a first and a second reading, from which a rate is computed, in milliseconds. */
const RATE_MS = 1_000;

/** After this time without a request nothing is kept any more, in milliseconds. */
const KEPT_MS = 5 * 60_000;

/**
 * How long cached limits and weights of cgroups are valid, in milliseconds. Those of a pod are also read again when
 * its pod state was read again, as after each change of its resources.
 */
const SETTINGS_MS = 5 * 60_000;

/** How long other work of the process waits at most while cgroups are read, in milliseconds. */
const SLICE_MS = 4;

const details: readonly UsageDetail[] = ['usage', 'pressure', 'all'];

/**
 * Reads what the node and its pods use, on request: no other component reads it. CPU times of the previous sample are
 * kept, for rates.
 */
export class NodeSampler {
  readonly #options: NodeSamplerOptions;
  readonly #stopped = new AbortController();
  #sample: NodeSample | undefined;
  /** The newest samples that are old enough for a comparison, and the newest sample, by cgroup. */
  #before: { readonly atMs: number; readonly times: ReadonlyMap<string, CpuTime> } | undefined;
  #last: { readonly atMs: number; readonly times: ReadonlyMap<string, CpuTime> } | undefined;
  #reading: Promise<NodeSample> | undefined;
  /** Cgroups of containers by the runtime's IDs. */
  #paths = new Map<string, string>();
  /** Keyed by cgroup: the processes in it. */
  readonly #inside = new Map<string, Inside>();
  /** The pod states at the last reading. */
  #pods = new Set<RuntimePod>();
  #settingsAt = -Infinity;
  #forget: Cancel | undefined;

  constructor(options: NodeSamplerOptions) {
    this.#options = options;
  }

  /** A sample of this moment, or of shortly before. */
  async sample(detail: UsageDetail): Promise<NodeSample> {
    return this.#take(detail, () => true);
  }

  /** The same with rates; waits for a second when the last request was long ago. */
  async sampleWithRates(detail: UsageDetail): Promise<NodeSample> {
    if (this.#base(this.#options.clock.now()) === undefined) {
      await this.#take(detail, () => true);
      await sleep(this.#options.clock, RATE_MS, this.#stopped.signal);
    }
    return this.#take(detail, ({ root }) => root.nanoCores !== undefined);
  }

  /** Closes what is open. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#reading?.catch(() => undefined);
    this.#forgetAll();
  }

  async #take(detail: UsageDetail, suffices: (sample: NodeSample) => boolean): Promise<NodeSample> {
    const hasAll = (sample: NodeSample) => details.indexOf(sample.detail) >= details.indexOf(detail);
    while (this.#reading !== undefined) {
      const sample = await this.#reading;
      if (hasAll(sample) && suffices(sample)) return sample;
    }
    const { clock } = this.#options;
    const newest = this.#sample;
    const isFresh = newest !== undefined && clock.now() - newest.atMs < FRESH_MS;
    if (isFresh && hasAll(newest) && suffices(newest)) return newest;
    this.#reading = this.#read(detail).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** CPU times with which the current ones can be compared. */
  #base(now: number): ReadonlyMap<string, CpuTime> | undefined {
    return [this.#last, this.#before].find((one) => one !== undefined && isComparable(one.atMs, now))?.times;
  }

  async #read(detail: UsageDetail): Promise<NodeSample> {
    const { clock, host, cgroups, pods } = this.#options;
    const atMs = clock.now();
    const { machine, memory } = host.machine();
    if (atMs - this.#settingsAt >= SETTINGS_MS) {
      cgroups.forgetSettings();
      this.#settingsAt = atMs;
    }
    const round = new Round(this.#options, detail, this.#base(atMs), {
      ...{ paths: this.#paths, pods: this.#pods, inside: this.#inside },
    });
    const root = round.cgroup('/', { startedAtMs: machine.bootedAtMs, machine: memory });
    if (root === undefined) throw new Error('the machine has no cgroup that can be read');
    const tiers = round.tiers();
    const system = round.system(memory);
    const podPaths = cgroups.pods();
    const network = detail === 'usage' ? undefined : host.network();
    const read: PodReading[] = [];
    let sliceBegan = clock.now();
    for (const shown of shownPods(pods())) {
      read.push(round.pod(shown, podPaths.get(shown.pod.ref.uid)));
      if (clock.now() - sliceBegan < SLICE_MS) continue;
      await nextTurn();
      sliceBegan = clock.now();
    }
    this.#keep(round, atMs);
    this.#sample = { detail, atMs, machine, root, tiers, system, network, pods: read };
    return this.#sample;
  }

  #keep({ times, paths, pods }: Round, atMs: number): void {
    const { cgroups, clock } = this.#options;
    if (this.#last !== undefined && isComparable(this.#last.atMs, atMs)) this.#before = this.#last;
    this.#last = { atMs, times };
    this.#paths = paths;
    this.#pods = pods;
    const known = new Set([...times.keys(), ...paths.values()]);
    cgroups.release((path) => known.has(path));
    for (const path of this.#inside.keys()) if (!known.has(path)) this.#inside.delete(path);
    this.#forget?.();
    if (this.#stopped.signal.aborted) this.#forgetAll();
    else this.#forget = clock.after(KEPT_MS, () => this.#forgetAll());
  }

  #forgetAll(): void {
    this.#forget?.();
    this.#sample = this.#last = this.#before = undefined;
    this.#paths = new Map();
    this.#inside.clear();
    this.#pods = new Set();
    this.#options.cgroups.release(() => false);
  }
}

/** The processes of a cgroup, which stay the same while none of them has run. */
interface Inside {
  /** When it was read. */
  readonly cpuNs: number;
  readonly processes: readonly number[];
  files: OpenFiles | undefined;
}

/** What is known from earlier rounds. */
interface Earlier extends Pick<Round, 'paths' | 'pods'> {
  readonly inside: Map<string, Inside>;
}

interface CgroupOptions extends ReadOptions {
  readonly startedAtMs: number;
}

/** One reading of everything. */
class Round {
  /** CPU times that were read, by cgroup. */
  readonly times = new Map<string, CpuTime>();
  /** Cgroups of the existing containers, by their IDs. */
  readonly paths = new Map<string, string>();
  /** The pods that were read. */
  readonly pods = new Set<RuntimePod>();
  readonly #options: NodeSamplerOptions;
  readonly #detail: UsageDetail;
  readonly #base: ReadonlyMap<string, CpuTime> | undefined;
  readonly #known: Earlier;

  constructor(
    options: NodeSamplerOptions,
    detail: UsageDetail,
    base: ReadonlyMap<string, CpuTime> | undefined,
    known: Earlier,
  ) {
    this.#options = options;
    this.#detail = detail;
    this.#base = base;
    this.#known = known;
  }

  tiers(): CgroupReading[] {
    const { cgroups } = this.#options;
    const paths = this.#detail === 'all' ? cgroups.tiers() : cgroups.tiers().slice(0, 1);
    return paths.flatMap((path) => this.cgroup(path, { startedAtMs: cgroups.madeAt(path) ?? 0 }) ?? []);
  }

  /** @param machine programs may be in the topmost cgroup */
  system(machine: ReadOptions['machine']): SystemReading[] {
    const { cgroups, system = [] } = this.#options;
    if (this.#detail === 'usage') return [];
    return system.flatMap(({ name, path, startedAtMs = cgroups.madeAt(path) ?? 0 }) => {
      const cgroup = this.cgroup(path, { startedAtMs, machine });
      return cgroup === undefined ? [] : [{ name, cgroup }];
    });
  }

  pod({ pod, sandbox, containers }: ShownPod, path: string | undefined): PodReading {
    const startedAtMs = milliseconds(sandbox.createdAt);
    const places = this.#places(path, [sandbox.id, ...containers.map(({ id }) => id)]);
    this.pods.add(pod);
    if (!this.#known.pods.has(pod)) this.#forgetSettings([path, ...places.values()]);
    // The pod's cgroup first: when nothing was counted there, nothing was counted in those of its containers.
    const cgroup = path === undefined ? undefined : this.cgroup(path, { startedAtMs });
    const container = (id: string, began: number) =>
      this.#container(places.get(id), { startedAtMs: began, within: path });
    const read: ContainerReading[] = containers.map(({ id, name, image, logPath, createdAt }) => {
      const began = milliseconds(createdAt);
      return { id, name, image, logPath, startedAtMs: began, cgroup: container(id, began) };
    });
    const reading: PodReading = { ref: pod.ref, startedAtMs, containers: read, volumes: [], cgroup };
    if (this.#detail === 'usage') return reading;
    const place = places.get(sandbox.id);
    const own = this.#detail === 'all' ? container(sandbox.id, startedAtMs) : undefined;
    const processes = this.#processes(place, own);
    // The runtime may have no process in a sandbox.
    const process = processes[0] ?? read.flatMap(({ id, cgroup }) => this.#processes(places.get(id), cgroup))[0];
    return {
      ...reading,
      processes: read.reduce((sum, { cgroup }) => sum + (cgroup?.processes ?? 0), processes.length),
      sandbox: { id: sandbox.id, cgroup: own },
      network: isOfHost(sandbox) || process === undefined ? undefined : this.#options.host.network(process),
    };
  }

  cgroup(path: string, { startedAtMs, ...options }: CgroupOptions): CgroupReading | undefined {
    const { clock, cgroups } = this.#options;
    const atMs = clock.now();
    const usage = cgroups.read(path, this.#detail, options);
    if (usage === undefined) return undefined;
    const rate = nanoCores(this.#base?.get(path), { atMs, usage });
    const reading = { path, atMs, startedAtMs, usage, nanoCores: rate };
    this.times.set(path, reading);
    return reading;
  }

  #container(path: string | undefined, options: CgroupOptions): CgroupReading | undefined {
    const reading = path === undefined ? undefined : this.cgroup(path, options);
    if (path === undefined || reading === undefined || this.#detail === 'usage') return reading;
    const { processes, files } = this.#inside(path, reading.usage.cpuNs);
    return { ...reading, processes: processes.length, ...files };
  }

  #processes(path: string | undefined, reading: CgroupReading | undefined): readonly number[] {
    if (path === undefined) return [];
    return reading === undefined
      ? this.#options.cgroups.processes(path)
      : this.#inside(path, reading.usage.cpuNs).processes;
  }

  #inside(path: string, cpuNs: number): Inside {
    const { cgroups, host } = this.#options;
    const known = this.#known.inside.get(path);
    const inside = known?.cpuNs === cpuNs ? known : { cpuNs, processes: cgroups.processes(path), files: undefined };
    if (this.#detail === 'all') inside.files ??= host.openFiles(inside.processes);
    this.#known.inside.set(path, inside);
    return inside;
  }

  #forgetSettings(paths: readonly (string | undefined)[]): void {
    for (const path of paths) if (path !== undefined) this.#options.cgroups.forgetSettings(path);
  }

  /** The cgroups of containers; each is looked up once. */
  #places(pod: string | undefined, ids: readonly string[]): ReadonlyMap<string, string> {
    if (pod === undefined) return new Map();
    const isKnown = ids.every((id) => this.#known.paths.has(id));
    const found = isKnown ? this.#known.paths : this.#options.cgroups.containers(pod, ids);
    const places = new Map<string, string>();
    for (const id of ids) {
      const place = found.get(id);
      if (place !== undefined) places.set(id, place);
    }
    for (const [id, place] of places) this.paths.set(id, place);
    return places;
  }
}

function isOfHost({ hostNetwork, ips }: ShownPod['sandbox']): boolean {
  return hostNetwork ?? ips.length === 0;
}

/** @param nanos nanoseconds, decimal */
function milliseconds(nanos: string): number {
  return Number(BigInt(nanos) / 1_000_000n);
}
