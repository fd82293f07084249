import { type Ledger, cpuSet, cpuSetText, parseCpuSet } from '@kubus/exclusive';
import { allocationRecordSchema } from '@kubus/node-agent/devices';
import type { Disk } from './disk.ts';
import type { Violation } from './invariants.ts';
import { type PodPlan, ends, wantsCpus } from './pod-plan.ts';
import type { ModelContainer } from './runtime-things.ts';
import type { RuntimeModel } from './runtime-model.ts';
import { MACHINE } from './simulated-machine.ts';
import { CPU_STATE, DEVICE_RECORDS, LEDGER, MEMORY_STATE, cpusIn, memoryIn } from './simulated-things.ts';

/** What the runtime may still do for a cri-bridge that has crashed ends within this time, in milliseconds. */
const STRAY_MS = 100;

type WatchedDisk = Pick<Disk, 'keys' | 'observe' | 'value'>;
type WatchedRuntime = Pick<RuntimeModel, 'observe' | 'pod' | 'uids'>;

/**
 * Checks who has which CPUs, memory and devices: what node-agent has written on the disk, what containers are created with, and what those
 * that run at the same time use.
 */
export class ExclusiveWatch {
  readonly violations: Violation[] = [];
  readonly #disk: WatchedDisk;
  readonly #runtime: WatchedRuntime;
  readonly #plans: ReadonlyMap<string, PodPlan>;
  readonly #now: () => number;
  #bridgeKilled = -STRAY_MS;
  /** IDs of containers that started for a cri-bridge which had crashed, maybe after the end of their pods. */
  readonly #strays = new Set<string>();
  /** The groups of NUMA nodes that the ledger had last. */
  #groups: ReadonlySet<string> = new Set();

  /** @param options.plans every pod that was ever desired, by its UID */
  constructor(options: {
    readonly disk: WatchedDisk;
    readonly runtime: WatchedRuntime;
    readonly plans: ReadonlyMap<string, PodPlan>;
    readonly now: () => number;
  }) {
    this.#disk = options.disk;
    this.#runtime = options.runtime;
    this.#plans = options.plans;
    this.#now = options.now;
    this.#disk.observe((folder, key, text) => {
      if (folder !== LEDGER) return;
      if (key === CPU_STATE) this.#wroteCpus(cpusIn(text));
      if (key === MEMORY_STATE) this.#wroteMemory(memoryIn(text));
    });
    this.#runtime.observe({ created: (one) => this.#created(one), started: (one) => this.#started(one) });
  }

  bridgeKilled(): void {
    this.#bridgeKilled = this.#now();
  }

  /** What must be true of pods that are to run when the node has become idle. The others have nothing. */
  atRest(wanted: readonly PodPlan[]): Violation[] {
    const running = wanted.filter((plan) => !ends(plan));
    const { shared, cpus } = this.#cpus;
    const owners = [cpus, this.#memory.memory].flatMap(Object.keys);
    const uids = new Set(running.map(({ uid }) => uid));
    const left = new Set([...owners, ...this.#disk.keys(DEVICE_RECORDS)].filter((uid) => !uids.has(uid)));
    const wrong = running.flatMap(({ uid }) =>
      this.#runtime
        .pod(uid)
        .containers.filter(({ state }) => state === 'CONTAINER_RUNNING')
        .flatMap((container) => {
          const { name } = placeOf(container);
          const own = cpus[uid]?.[name];
          const expected = this.#wants(container)
            ? own === undefined
              ? 'its own'
              : cpuSetText(own)
            : cpuSetText(shared);
          return container.cpus === expected ? [] : [`${uid} ${name}: ${container.cpus ?? 'any'}, not ${expected}`];
        }),
    );
    return [
      ...[...left].map((uid) => ({ rule: 'a pod that does not run has nothing for itself', detail: uid })),
      ...wrong.map((detail) => ({ rule: 'running containers use the CPUs that are theirs', detail })),
    ];
  }

  get #cpus(): Pick<Ledger, 'shared' | 'cpus'> {
    const text = this.#disk.value(LEDGER, CPU_STATE);
    return text === undefined ? { shared: [], cpus: {} } : cpusIn(text);
  }

  get #memory(): Pick<Ledger, 'nodes' | 'memory'> {
    const text = this.#disk.value(LEDGER, MEMORY_STATE);
    return text === undefined ? { nodes: {}, memory: {} } : memoryIn(text);
  }

  /** Each CPU is shared or has one pod; the containers of a pod may use it one after another. */
  #wroteCpus({ shared, cpus }: Pick<Ledger, 'shared' | 'cpus'>): void {
    const owners = Object.entries(cpus).map(
      ([uid, containers]) => [uid, cpuSet(Object.values(containers).flat())] as const,
    );
    const given = [['the shared pool', shared] as const, ...owners];
    for (const { id } of MACHINE.cpus) {
      const of = given.filter(([, set]) => set.includes(id)).map(([owner]) => owner);
      if (of.length !== 1) this.#violate('a CPU has one owner', `CPU ${id}: ${of.join(', ') || 'nobody'}`);
    }
  }

  /**
   * A group of several NUMA nodes is new only where no other has memory (memory of one node may follow, as in the reference), and all that is
   * reserved belongs to a container.
   */
  #wroteMemory({ nodes, memory }: Pick<Ledger, 'nodes' | 'memory'>): void {
    const blocks = Object.values(memory).flatMap((containers) => Object.values(containers).flat());
    const groups = new Set(blocks.map(({ numaAffinity }) => cpuSetText(cpuSet(numaAffinity))));
    for (const group of groups) {
      const of = parseCpuSet(group) ?? [];
      if (of.length < 2 || this.#groups.has(group)) continue;
      const others = [...this.#groups].filter((other) => parseCpuSet(other)?.some((id) => of.includes(id)));
      if (others.length > 0)
        this.#violate('a group of NUMA nodes begins where no other is', `${group}: ${others.join(' and ')}`);
    }
    this.#groups = groups;
    const reserved = new Map<string, number>();
    for (const { memoryMap } of Object.values(nodes)) {
      for (const [type, table] of Object.entries(memoryMap)) {
        reserved.set(type, (reserved.get(type) ?? 0) + table.reserved);
        if (table.free < 0 || table.free + table.reserved !== table.allocatable)
          this.#violate(
            'memory has one owner',
            `${type}: ${table.reserved} of ${table.allocatable} with ${table.free} free`,
          );
      }
    }
    for (const [type, sum] of reserved) {
      const owned = blocks.filter((one) => one.type === type).reduce((bytes, { size }) => bytes + size, 0);
      if (owned !== sum) this.#violate('memory has one owner', `${type}: ${sum} reserved, ${owned} in containers`);
    }
  }

  /** What a container is created with is on the disk. */
  #created(container: ModelContainer): void {
    if (this.#isStray) return;
    const { uid, name } = placeOf(container);
    const { cpusetMems } = container.config.linux?.resources ?? {};
    const blocks = this.#memory.memory[uid]?.[name];
    const mems = blocks && cpuSetText(cpuSet(blocks.flatMap(({ numaAffinity }) => numaAffinity)));
    if (cpusetMems !== mems) this.#differs(container, `NUMA nodes ${cpusetMems ?? 'any'}, not ${mems ?? 'any'}`);
    const own = this.#cpus.cpus[uid]?.[name];
    const cpus = own && cpuSetText(own);
    if (this.#wants(container) && (cpus === undefined || container.cpus !== cpus))
      this.#differs(container, `CPUs ${container.cpus ?? 'any'}, not ${cpus ?? 'any'}`);
    const record = this.#disk.value(DEVICE_RECORDS, uid);
    const given = record === undefined ? [] : allocationRecordSchema.parse(record).containers;
    const ids = given
      .filter((one) => one.name === name)
      .flatMap(({ resources }) => resources.flatMap(({ devices }) => devices));
    const paths = ids.map(({ id }) => `/dev/${id}`);
    if (paths.join() !== devicesOf(container).join())
      this.#differs(container, `devices ${devicesOf(container).join()}, not ${paths.join()}`);
  }

  /** No two containers that run use the same CPU for themselves, or the same device. */
  #started(container: ModelContainer): void {
    if (this.#isStray) {
      this.#strays.add(container.id);
      return;
    }
    const own = this.#ownOf(container);
    for (const uid of this.#runtime.uids) {
      for (const other of this.#runtime.pod(uid).containers) {
        if (other === container || other.state !== 'CONTAINER_RUNNING' || this.#strays.has(other.id)) continue;
        const both = this.#ownOf(other).filter((thing) => own.includes(thing));
        if (both.length === 0) continue;
        const [one, two] = [placeOf(container), placeOf(other)];
        const detail = `${both.join(', ')}: ${one.uid} ${one.name} and ${two.uid} ${two.name}`;
        this.#violate('what a container has for itself is used by no other', detail);
      }
    }
  }

  #ownOf(container: ModelContainer): string[] {
    const cpus = this.#wants(container) ? (parseCpuSet(container.cpus ?? '') ?? []) : [];
    return [...cpus.map((id) => `CPU ${id}`), ...devicesOf(container)];
  }

  #wants(container: ModelContainer): boolean {
    const { uid, name } = placeOf(container);
    const plan = this.#plans.get(uid);
    return plan !== undefined && wantsCpus(plan, name);
  }

  get #isStray(): boolean {
    return this.#now() - this.#bridgeKilled < STRAY_MS;
  }

  #differs(container: ModelContainer, what: string): void {
    const { uid, name } = placeOf(container);
    this.#violate('a container is created with what is its own on the disk', `${uid} ${name}: ${what}`);
  }

  #violate(rule: string, detail: string): void {
    this.violations.push({ rule, detail });
  }
}

function placeOf({ sandbox, config }: ModelContainer): { readonly uid: string; readonly name: string } {
  return { uid: sandbox.config.metadata?.uid ?? '', name: config.metadata?.name ?? '' };
}

function devicesOf({ config }: ModelContainer): string[] {
  return (config.devices ?? []).map(({ hostPath = '' }) => hostPath);
}
