import { type ExclusiveSetup, type Ledger, type PodRequest, type Refusal, hasMemory } from '@kubus/exclusive';
import { Distribution, Tally } from '@kubus/metrics';
import type { Metrics } from '@kubus/service-kit';
import { ResourceManagerMetrics } from './resource-manager-metrics.ts';

/** Milliseconds, from 0.05 on, as in the reference kubelet. */
const BUCKETS = Array.from({ length: 15 }, (_, index) => 0.05 * 2 ** index);
const IN_NODE = { scope: 'container', boundary: 'numa_node' };
const POD_IN_NODE = { scope: 'pod', boundary: 'numa_node' };
const IN_CORES = { scope: 'container', boundary: 'physical_cpu' };

/** How a pod's admission has ended; `devices`: it does not get devices. */
export interface AskedPod {
  readonly pod: PodRequest;
  readonly refusal: Pick<Refusal, 'by' | 'container'> | 'devices' | undefined;
  /** How long it took, in milliseconds. */
  readonly ms: number;
}

/** The reference kubelet's metrics of its CPU, memory and topology managers. Pods that request nothing for themselves do not count. */
export class ExclusiveMetrics {
  readonly #setup: ExclusiveSetup;
  readonly #ledger: () => Ledger;
  readonly #counts = { cpus: 0, cpuErrors: 0, memory: 0, memoryErrors: 0, admissions: 0, admissionErrors: 0 };
  readonly #durations = new Distribution(BUCKETS, {});
  readonly #aligned: Tally;
  readonly #unaligned: Tally;
  readonly #managers: ResourceManagerMetrics | undefined;

  /** @param podLevel pods with resources of their own have exclusive things, too, and what is given is counted by its source */
  constructor(setup: ExclusiveSetup, ledger: () => Ledger, podLevel = false) {
    this.#managers = podLevel ? new ResourceManagerMetrics() : undefined;
    this.#setup = setup;
    this.#ledger = ledger;
    const known = [IN_NODE, POD_IN_NODE, ...(this.#wholeCores ? [IN_CORES] : [])];
    this.#aligned = new Tally(...known);
    this.#unaligned = new Tally(...known);
  }

  /** A pod was to be admitted. */
  asked({ pod, refusal, ms }: AskedPod): void {
    const { containers, whole } = pod;
    const counts = this.#counts;
    const { cpu, memory, topology } = this.#setup;
    if (topology !== undefined) {
      counts.admissions += 1;
      this.#durations.observe({}, ms);
      if (refusal !== undefined) counts.admissionErrors += 1;
    }
    if (refusal === 'devices') return;
    const by = refusal?.by;
    if (whole !== undefined && topology?.scope === 'pod') {
      this.#askedWhole(pod, by);
      this.#alignedToNodes(containers.length, refusal);
      return;
    }
    // The managers are asked for each container in turn: CPUs first, then memory.
    const at =
      refusal === undefined ? containers.length : containers.findIndex(({ name }) => name === refusal.container);
    const given = containers.slice(0, Math.max(0, at));
    const refused = by === 'topology' ? undefined : containers[at];
    const ofCpus = [...given, ...(refused === undefined ? [] : [refused])];
    const ofMemory = by === 'memory' ? ofCpus : given;
    if (cpu !== undefined) counts.cpus += ofCpus.filter(({ cpus }) => cpus > 0).length;
    if (memory !== undefined) counts.memory += ofMemory.filter((one) => one.memory !== undefined).length;
    if (by === 'cpu') counts.cpuErrors += 1;
    if (by === 'memory') counts.memoryErrors += 1;
    this.#assigned('node', { ofCpus: by === 'memory' ? ofCpus : given, ofMemory: given }, by);
    if (this.#wholeCores) {
      const inCores = by === 'memory' ? ofCpus : given;
      this.#aligned.add(IN_CORES, inCores.filter(({ cpus }) => cpus > 0).length);
      if (by === 'cpu') this.#unaligned.add(IN_CORES);
    }
    this.#alignedToNodes(given.length, refusal);
  }

  show(metrics: Metrics): void {
    this.#managers?.show(metrics);
    const counts = this.#counts;
    const counters: readonly [string, string, () => number][] = [
      ['cpu_manager_pinning_requests_total', 'Containers that were to get CPUs of their own.', () => counts.cpus],
      ['cpu_manager_pinning_errors_total', 'Containers that did not get CPUs of their own.', () => counts.cpuErrors],
      ['memory_manager_pinning_requests_total', 'Containers that were to get memory.', () => counts.memory],
      ['memory_manager_pinning_errors_total', 'Containers that did not get memory.', () => counts.memoryErrors],
      [
        'topology_manager_admission_requests_total',
        'Pods whose CPUs or memory were to be aligned.',
        () => counts.admissions,
      ],
      ['topology_manager_admission_errors_total', 'Pods of these that were refused.', () => counts.admissionErrors],
    ];
    for (const [name, help, collect] of counters) {
      metrics.add({ type: 'counter', name: `kubelet_${name}`, help, collect });
    }
    metrics.add({
      type: 'histogram',
      name: 'kubelet_topology_manager_admission_duration_ms',
      help: 'Milliseconds in which these pods got their CPUs, memory and devices, or were refused.',
      values: this.#durations,
    });
    for (const [name, help, tally] of [
      [
        'count',
        'Containers or pods that got what they request within a boundary, by scope and boundary.',
        this.#aligned,
      ],
      ['failure_count', 'Containers or pods that were refused because of a boundary.', this.#unaligned],
    ] as const) {
      metrics.add({
        type: 'counter',
        name: `kubelet_container_aligned_compute_resources_${name}`,
        help,
        collect: () => tally.samples,
      });
    }
    metrics.add({
      type: 'gauge',
      name: 'kubelet_cpu_manager_shared_pool_size_millicores',
      help: 'Thousandths of the CPUs that no container has for itself and that are not reserved.',
      collect: () => {
        const reserved = this.#setup.cpu?.reserved ?? [];
        return this.#ledger().shared.filter((id) => !reserved.includes(id)).length * 1000;
      },
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_cpu_manager_exclusive_cpu_allocation_count',
      help: 'CPUs that containers have for themselves.',
      collect: () => {
        const { cpus, podCpus } = this.#ledger();
        const ofContainers = Object.values(cpus).flatMap((pod) => Object.values(pod).flat());
        return new Set([...ofContainers, ...Object.values(podCpus).flat()]).size;
      },
    });
  }

  /** The managers are asked for the pod as a whole, and divide what it gets. */
  #askedWhole({ containers, whole }: PodRequest, by: Refusal['by'] | undefined): void {
    const { cpu, memory } = this.#setup;
    if (by === 'topology') return;
    const ofCpus = by !== 'cpu' && (whole?.cpus ?? 0) > 0 ? containers : [];
    this.#assigned('pod', { ofCpus, ofMemory: by === undefined ? containers : [] }, by);
    const counts = this.#counts;
    if (cpu !== undefined && by === 'cpu') counts.cpuErrors += 1;
    if (cpu !== undefined) counts.cpus += ofCpus.filter(({ cpus }) => cpus > 0).length;
    if (memory === undefined || by === 'cpu') return;
    counts.memory += 1;
    if (by === 'memory') counts.memoryErrors += 1;
    // Each init container counts, an app container only with memory of its own.
    else counts.memory += containers.filter((one) => one.kind !== 'app' || hasMemory(one.memory)).length;
  }

  #assigned(
    source: 'node' | 'pod',
    { ofCpus, ofMemory }: Readonly<Record<'ofCpus' | 'ofMemory', PodRequest['containers']>>,
    by: Refusal['by'] | undefined,
  ): void {
    const { cpu, memory } = this.#setup;
    const managers = this.#managers;
    if (managers === undefined) return;
    if (cpu !== undefined) managers.add({ resource: 'cpu', source, containers: ofCpus, isRefused: by === 'cpu' });
    if (memory === undefined) return;
    managers.add({ resource: 'memory', source, containers: ofMemory, isRefused: by === 'memory' });
  }

  /** Only one policy promises that everything is of one NUMA node. */
  #alignedToNodes(given: number, refusal: Pick<Refusal, 'by'> | undefined): void {
    const { topology } = this.#setup;
    if (topology?.policy !== 'single-numa-node') return;
    const labels = topology.scope === 'pod' ? POD_IN_NODE : IN_NODE;
    if (topology.scope === 'container') this.#aligned.add(labels, given);
    else if (refusal === undefined) this.#aligned.add(labels);
    if (refusal?.by === 'topology') this.#unaligned.add(labels);
  }

  get #wholeCores(): boolean {
    return this.#setup.cpu?.options.fullCores === true;
  }
}
