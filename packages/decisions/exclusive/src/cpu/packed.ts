import { type CpuSet, cpuSet } from '../cpu-set.ts';
import { type Cpu, type Machine, type Unit, cpusBy, cpusPerCore } from '../machine.ts';

/** How CPUs are taken from those that are free. */
export interface TakeOptions {
  /** Whole cores are not preferred (distribute-cpus-across-cores). */
  readonly spread: boolean;
  /** CPUs that share a last-level cache are preferred (prefer-align-cpus-by-uncorecache). */
  readonly byCache: boolean;
}

/** Why CPUs cannot be taken, in the reference kubelet's words. */
export interface NoCpus {
  readonly problem: string;
}

/**
 * A number of CPUs on as few sockets, NUMA nodes and cores as possible, those that are least free first (behaviour:resource-managers,
 * CPU): whole nodes and sockets, then caches if they are preferred, then whole cores, then single CPUs.
 */
export function packedCpus(machine: Machine, free: CpuSet, count: number, options: TakeOptions): CpuSet | NoCpus {
  if (count < 1) return [];
  if (count > free.length) return tooFew(count, free.length);
  const taking = new FreeCpus(machine, free, count);
  const [first, second] = taking.isNodeWider ? (['node', 'socket'] as const) : (['socket', 'node'] as const);
  taking.takeWhole(first);
  taking.takeWhole(second);
  if (options.byCache) taking.takeCaches();
  if (!options.spread) taking.takeWhole('core');
  taking.takeSingle(options.spread);
  return taking.taken();
}

export function tooFew(requested: number, available: number): NoCpus {
  return { problem: `not enough cpus available to satisfy request: requested=${requested}, available=${available}` };
}

/** The CPUs that are free while a container's are taken from them. */
export class FreeCpus {
  /** A NUMA node has at least the size of a socket. */
  readonly isNodeWider: boolean;
  readonly #machine: Machine;
  readonly #free: Map<number, Cpu>;
  readonly #taken: number[] = [];
  #needed: number;

  constructor(machine: Machine, free: CpuSet, count: number) {
    this.#machine = machine;
    this.#needed = count;
    const allowed = new Set(free);
    this.#free = new Map(machine.cpus.filter(({ id }) => allowed.has(id)).map((cpu) => [cpu.id, cpu]));
    this.isNodeWider = machine.sockets >= cpusBy(machine.cpus, 'node').size;
  }

  get needed(): number {
    return this.#needed;
  }

  taken(): CpuSet {
    return cpuSet(this.#taken);
  }

  take(cpus: CpuSet): void {
    for (const id of cpus) {
      if (this.#free.delete(id)) this.#taken.push(id);
    }
    this.#needed -= cpus.length;
  }

  freeBy(unit: Unit): ReadonlyMap<number, CpuSet> {
    return cpusBy(this.#free.values(), unit);
  }

  /** Those with free CPUs. */
  nodes(): readonly number[] {
    if (this.isNodeWider) return this.#leastFree('node', () => true);
    return this.#within('socket', this.#sockets(), 'node');
  }

  /** All that are free as a whole and not more than are needed. */
  takeWhole(unit: Unit): void {
    const free = this.freeBy(unit);
    for (const place of this.#places(unit).filter(this.#wholePlaces(unit, free))) {
      const cpus = free.get(place) ?? [];
      if (this.#needed > 0 && this.#needed >= cpus.length) this.take(cpus);
    }
  }

  /** Whole caches, and then the part of one that suffices for the rest. */
  takeCaches(): void {
    const size = Math.floor(this.#machine.cpus.length / cpusBy(this.#machine.cpus, 'cache').size);
    for (const cache of this.#places('cache')) {
      if (this.#needed > 0 && this.#needed >= size) this.takeWhole('cache');
      if (this.#needed > 0) this.#takePartOf(cache);
      if (this.#needed < 1) return;
    }
  }

  takeSingle(spread: boolean): void {
    const by = this.freeBy(spread ? 'socket' : 'core');
    for (const place of spread ? this.#sockets() : this.#places('core')) {
      for (const cpu of by.get(place) ?? []) {
        if (this.#needed < 1) return;
        this.take([cpu]);
      }
    }
  }

  /** The lowest cores of a cache, if they have exactly the number of CPUs that are needed. */
  #takePartOf(cache: number): void {
    const perCore = cpusPerCore(this.#machine);
    const free = [...this.#free.values()];
    const cores = cpuSet(free.filter((cpu) => cpu.cache === cache).map(({ core }) => core));
    const some = new Set(cores.slice(0, Math.ceil(this.#needed / perCore)));
    const cpus = cpuSet(free.filter(({ core }) => some.has(core)).map(({ id }) => id));
    const isOdd = this.#needed % 2 !== 0 && perCore > 1;
    const part = isOdd && cpus.length > this.#needed ? cpus.slice(0, -1) : cpus;
    if (part.length === this.#needed) this.take(part);
  }

  /**
   * Whether all CPUs of a place are free. A core or a socket must also have the average size of the machine, as with the reference;
   * that one takes all CPUs of a larger core or socket of which so many are free, and gives a CPU twice.
   */
  #wholePlaces(unit: Unit, free: ReadonlyMap<number, CpuSet>): (place: number) => boolean {
    const { cpus, sockets } = this.#machine;
    const all = cpusBy(cpus, unit);
    const averages = { core: cpusPerCore(this.#machine), socket: Math.floor(cpus.length / sockets) };
    const average = unit === 'core' || unit === 'socket' ? averages[unit] : undefined;
    return (place) => {
      const size = free.get(place)?.length;
      return size === all.get(place)?.length && size === (average ?? size);
    };
  }

  #places(unit: Unit): readonly number[] {
    if (unit === 'node') return this.nodes();
    if (unit === 'socket') return this.#sockets();
    if (unit === 'cache') return this.#within('node', this.nodes(), 'cache');
    return this.isNodeWider
      ? this.#within('socket', this.#sockets(), 'core')
      : this.#within('node', this.nodes(), 'core');
  }

  #sockets(): readonly number[] {
    return this.isNodeWider ? this.#within('node', this.nodes(), 'socket') : this.#leastFree('socket', () => true);
  }

  /** The places of a unit, first those in the first of the wider places. */
  #within(wide: Unit, places: readonly number[], unit: Unit): readonly number[] {
    return [...new Set(places.flatMap((place) => this.#leastFree(unit, (cpu) => cpu[wide] === place)))];
  }

  /** Those with the fewest free CPUs first, then by number. */
  #leastFree(unit: Unit, isMeant: (cpu: Cpu) => boolean): readonly number[] {
    const free = this.freeBy(unit);
    const size = (place: number) => free.get(place)?.length ?? 0;
    const places = new Set([...this.#free.values()].filter(isMeant).map((cpu) => cpu[unit]));
    return [...places].toSorted((a, b) => size(a) - size(b) || a - b);
  }
}
