import type { ExclusiveSetup, Ledger, PodRequest, admitted } from '@kubus/exclusive';
import type { Metrics } from '@kubus/service-kit';

type Refusal = ReturnType<typeof admitted>['refusal'];

/** The reference kubelet's metrics of its CPU, memory and topology managers. */
export class ExclusiveMetrics {
  readonly #setup: ExclusiveSetup;
  readonly #ledger: () => Ledger;
  readonly #counts = { cpus: 0, cpuErrors: 0, memory: 0, memoryErrors: 0, admissions: 0, admissionErrors: 0 };

  constructor(setup: ExclusiveSetup, ledger: () => Ledger) {
    this.#setup = setup;
    this.#ledger = ledger;
  }

  /** A pod was to be admitted. */
  asked({ containers }: PodRequest, refusal: Refusal): void {
    const counts = this.#counts;
    const { cpu, memory, topology } = this.#setup;
    if (topology !== undefined) counts.admissions += 1;
    if (refusal !== undefined && topology !== undefined) counts.admissionErrors += 1;
    if (refusal?.by === 'topology') return;
    if (cpu !== undefined) counts.cpus += containers.filter(({ cpus }) => cpus > 0).length;
    if (memory !== undefined) counts.memory += containers.filter((one) => one.memory !== undefined).length;
    if (refusal?.by === 'cpu') counts.cpuErrors += 1;
    if (refusal?.by === 'memory') counts.memoryErrors += 1;
  }

  show(metrics: Metrics): void {
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
      collect: () => new Set(Object.values(this.#ledger().cpus).flatMap((pod) => Object.values(pod).flat())).size,
    });
  }
}
