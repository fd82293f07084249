import { type Ledger, cpuSet, cpuSetText, memoryNodes, parseCpuSet, union } from '@kubus/exclusive';
import { allocationRecordSchema } from '@kubus/node-agent/devices';
import type { Disk } from './disk.ts';
import type { Violation } from './invariants.ts';
import { type PodPlan, ends } from './pod-plan.ts';
import { type CpuUse, cpuUse, endsFirst } from './resource-plan.ts';
import type { ModelContainer } from './runtime-things.ts';
import type { RuntimeModel } from './runtime-model.ts';
import { MACHINE, type WholeLevel } from './simulated-machine.ts';
import { CPU_STATE, DEVICE_RECORDS, LEDGER, MEMORY_STATE, cpusIn, memoryIn } from './simulated-things.ts';
import { cpuFaults, memoryFaults, poolOf } from './whole-things.ts';

/** What the runtime may still do for a cri-bridge that has crashed ends within this time, in milliseconds. */
const STRAY_MS = 100;

type CpuLedger = Pick<Ledger, 'shared' | 'cpus' | 'podCpus'>;
type MemoryLedger = Pick<Ledger, 'nodes' | 'memory' | 'podMemory'>;

type WatchedDisk = Pick<Disk, 'keys' | 'observe' | 'value'>;
type WatchedRuntime = Pick<RuntimeModel, 'observe' | 'pod' | 'uids'>;

/**
 * Checks who has which CPUs, memory and devices: what node-agent has written on the disk, what containers are created with, and what those
 * that run at the same time use.
 */
export class ExclusiveWatch {
  readonly violations: Violation[] = [];
  /** Where pods with resources of their own have theirs. */
  readonly level: WholeLevel;
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
    readonly level: WholeLevel;
    readonly now: () => number;
  }) {
    this.#disk = options.disk;
    this.#runtime = options.runtime;
    this.#plans = options.plans;
    this.level = options.level;
    this.#now = options.now;
    this.#disk.observe((folder, key, text) => {
      if (folder !== LEDGER) return;
      if (key === CPU_STATE) this.#wroteCpus(cpusIn(text));
      if (key === MEMORY_STATE) this.#wroteMemory(memoryIn(text));
    });
    this.#runtime.observe({
      created: (one) => this.#created(one),
      updated: (one) => this.#checkCpus(one),
      started: (one) => this.#started(one),
    });
  }

  bridgeKilled(): void {
    this.#bridgeKilled = this.#now();
  }

  /** What must be true of pods that are to run when the node has become idle. The others have nothing. */
  atRest(wanted: readonly PodPlan[]): Violation[] {
    const running = wanted.filter((plan) => !ends(plan));
    const [{ cpus, podCpus }, { memory, podMemory }] = [this.#cpus, this.#memory];
    const owners = [cpus, podCpus, memory, podMemory].flatMap(Object.keys);
    const uids = new Set(running.map(({ uid }) => uid));
    const left = new Set([...owners, ...this.#disk.keys(DEVICE_RECORDS)].filter((uid) => !uids.has(uid)));
    const wrong = running.flatMap(({ uid }) =>
      this.#runtime
        .pod(uid)
        .containers.filter(({ state }) => state === 'CONTAINER_RUNNING')
        .flatMap((container) => {
          const expected = this.#cpusOf(container) ?? 'its own';
          const { name } = placeOf(container);
          return container.cpus === expected ? [] : [`${uid} ${name}: ${container.cpus ?? 'any'}, not ${expected}`];
        }),
    );
    return [
      ...[...left].map((uid) => ({ rule: 'a pod that does not run has nothing for itself', detail: uid })),
      ...wrong.map((detail) => ({ rule: 'running containers use the CPUs that are theirs', detail })),
    ];
  }

  get #cpus(): CpuLedger {
    const text = this.#disk.value(LEDGER, CPU_STATE);
    return text === undefined ? { shared: [], cpus: {}, podCpus: {} } : cpusIn(text);
  }

  get #memory(): MemoryLedger {
    const text = this.#disk.value(LEDGER, MEMORY_STATE);
    return text === undefined ? { nodes: {}, memory: {}, podMemory: {} } : memoryIn(text);
  }

  /**
   * Each CPU is shared or has one pod; the containers of a pod may use it one after another, or together if the pod has it as a whole, which is
   * divided among them.
   */
  #wroteCpus({ shared, cpus, podCpus }: CpuLedger): void {
    const uids = new Set([cpus, podCpus].flatMap(Object.keys));
    const owners = [...uids].map((uid) => [uid, union(...Object.values(cpus[uid] ?? {}), podCpus[uid] ?? [])] as const);
    for (const [uid, whole] of Object.entries(podCpus)) {
      this.#isDivided(uid, (plan) => cpuFaults(plan, { containers: cpus[uid] ?? {}, whole }));
    }
    const given = [['the shared pool', shared] as const, ...owners];
    for (const { id } of MACHINE.cpus) {
      const of = given.filter(([, set]) => set.includes(id)).map(([owner]) => owner);
      if (of.length !== 1) this.#violate('a CPU has one owner', `CPU ${id}: ${of.join(', ') || 'nobody'}`);
    }
  }

  /**
   * A group of several NUMA nodes is new only where no other has memory (memory of one node may follow, as in the reference), and all that is
   * reserved belongs to a container, or to a pod as a whole.
   */
  #wroteMemory({ nodes, memory, podMemory }: MemoryLedger): void {
    const uids = new Set([memory, podMemory].flatMap(Object.keys));
    const blocks = [...uids].flatMap((uid) => podMemory[uid] ?? Object.values(memory[uid] ?? {}).flat());
    for (const [uid, whole] of Object.entries(podMemory)) {
      this.#isDivided(uid, (plan) => memoryFaults(plan, { containers: memory[uid] ?? {}, whole }));
    }
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
    const nodes = memoryNodes(this.#memory.memory[uid]?.[name] ?? []);
    const mems = nodes.length === 0 ? undefined : cpuSetText(nodes);
    if (cpusetMems !== mems) this.#differs(container, `NUMA nodes ${cpusetMems ?? 'any'}, not ${mems ?? 'any'}`);
    this.#checkCpus(container);
    const record = this.#disk.value(DEVICE_RECORDS, uid);
    const given = record === undefined ? [] : allocationRecordSchema.parse(record).containers;
    const ids = given
      .filter((one) => one.name === name)
      .flatMap(({ resources }) => resources.flatMap(({ devices }) => devices));
    const paths = ids.map(({ id }) => `/dev/${id}`);
    if (paths.join() !== devicesOf(container).join())
      this.#differs(container, `devices ${devicesOf(container).join()}, not ${paths.join()}`);
  }

  /** A container that does not share the CPUs of the node has those that the disk says. */
  #checkCpus(container: ModelContainer): void {
    if (this.#isStray || this.#use(container) === 'node') return;
    const cpus = this.#cpusOf(container);
    if (cpus === undefined || container.cpus !== cpus)
      this.#differs(container, `CPUs ${container.cpus ?? 'any'}, not ${cpus ?? 'any'}`);
  }

  /** No two containers that run use the same CPU for themselves or for their pods, or the same device. */
  #started(container: ModelContainer): void {
    if (this.#isStray) {
      this.#strays.add(container.id);
      return;
    }
    for (const uid of this.#runtime.uids) {
      for (const other of this.#runtime.pod(uid).containers) {
        if (other === container || other.state !== 'CONTAINER_RUNNING' || this.#strays.has(other.id)) continue;
        const [one, two] = [placeOf(container), placeOf(other)];
        const areCpus = !this.#maySharePodCpus(container, other);
        const own = this.#ownOf(container, areCpus);
        const both = this.#ownOf(other, areCpus).filter((thing) => own.includes(thing));
        if (both.length === 0) continue;
        const detail = `${both.join(', ')}: ${one.uid} ${one.name} and ${two.uid} ${two.name}`;
        this.#violate('what a container has for itself is used by no other', detail);
      }
    }
  }

  /** Two containers without CPUs of their own, or one beside an init container, which has such of the pod before app containers have them. */
  #maySharePodCpus(container: ModelContainer, other: ModelContainer): boolean {
    if (placeOf(container).uid !== placeOf(other).uid) return false;
    const isShared = (one: ModelContainer) => this.#use(one) === 'pod';
    const both = [container, other];
    return both.some(isShared) && both.every((one) => isShared(one) || endsFirst(placeOf(one).name));
  }

  #ownOf(container: ModelContainer, areCpus: boolean): string[] {
    const isOwn = areCpus && this.#use(container) !== 'node';
    const cpus = isOwn ? (parseCpuSet(container.cpus ?? '') ?? []) : [];
    return [...cpus.map((id) => `CPU ${id}`), ...devicesOf(container)];
  }

  /** The CPUs that a container should have by what is on the disk; undefined: that says nothing. */
  #cpusOf(container: ModelContainer): string | undefined {
    const { uid, name } = placeOf(container);
    const { shared, cpus, podCpus } = this.#cpus;
    const use = this.#use(container);
    if (use === 'node') return cpuSetText(shared);
    const [own, whole, plan] = [cpus[uid]?.[name], podCpus[uid], this.#plans.get(uid)];
    if (use === 'alone') return own && cpuSetText(own);
    if (whole === undefined || plan === undefined) return undefined;
    return cpuSetText(poolOf(plan, name, { containers: cpus[uid] ?? {}, whole }));
  }

  #use(container: ModelContainer): CpuUse {
    const { uid, name } = placeOf(container);
    const plan = this.#plans.get(uid);
    return plan === undefined ? 'node' : cpuUse(plan, name, this.level);
  }

  #isDivided(uid: string, faultsOf: (plan: PodPlan) => readonly string[]): void {
    const plan = this.#plans.get(uid);
    const faults = plan === undefined ? ['it was never wanted'] : faultsOf(plan);
    if (faults.length > 0)
      this.#violate('what a pod has as a whole is divided among its containers', `${uid}: ${faults.join(', ')}`);
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
