import { parseQuantity, quantityUnits } from '@kubus/contracts';
import type { Scenario } from '@kubus/harness';
import { parse } from 'yaml';

/** What of a machine the reference's records depend on. */
export interface GuestSize {
  readonly cpus: number;
  /** Bytes. */
  readonly memory: bigint;
}

interface Resources {
  memory_swap_limit_in_bytes?: number;
  oom_score_adj?: number;
  unified?: Record<string, string>;
}

interface WithResources {
  readonly config?: { readonly linux?: { readonly resources?: Resources } };
}

interface Golden {
  readonly cri?: { readonly sandboxes?: readonly WithResources[]; readonly containers?: Record<string, WithResources> };
}

interface ManifestContainer {
  readonly name: string;
  readonly resources?: { readonly requests?: { memory?: string }; readonly limits?: { memory?: string } };
}

interface Manifest {
  readonly spec: { readonly containers: ManifestContainer[]; readonly initContainers?: ManifestContainer[] };
}

const endTogether = { 'memory.oom.group': '1' };
const BEST_EFFORT = 1000;

/**
 * A scenario with what the reference records for it on a guest. It was recorded on cgroup v1, with two processors and more memory. On
 * cgroup v2 all processes of a container end together when one lacks memory (singleProcessOOMKill), swap is forbidden by the file of
 * cgroup v2 (KEP-2400), and the score of a burstable container follows from its share of the memory (behaviour:qos-and-cgroups). Where
 * the reference's own runs differ in whether a container runs or has ended, the guest may report its back-off alone: writing a status
 * takes longer there than the container runs.
 */
export function onGuest(scenario: Scenario, { cpus, memory }: GuestSize): Scenario {
  const text = JSON.stringify(scenario.golden).replaceAll('capacity: 2000', `capacity: ${cpus * 1000}`);
  const golden = JSON.parse(text) as Scenario['golden'];
  const { spec } = parse(scenario.pod) as Manifest;
  const { cri } = golden.record as Golden;
  for (const { config } of cri?.sandboxes ?? []) {
    if (config?.linux?.resources !== undefined) config.linux.resources.unified = { ...endTogether };
  }
  for (const [name, { config }] of Object.entries(cri?.containers ?? {})) {
    const resources = config?.linux?.resources;
    if (resources === undefined) continue;
    delete resources.memory_swap_limit_in_bytes;
    resources.unified = { ...endTogether, 'memory.swap.max': '0' };
    const { oom_score_adj: score = 0 } = resources;
    const container = [...spec.containers, ...(spec.initContainers ?? [])].find((one) => one.name === name);
    if (score > 0 && score < BEST_EFFORT && container !== undefined)
      resources.oom_score_adj = burstableScore(container, memory);
  }
  const waiting = golden.varying
    .filter((path) => path.endsWith('.state.terminated.reason'))
    .map((path) => path.replace('.terminated.reason', '.waiting'));
  const backOff = waiting.flatMap((path) => [`${path}.reason`, `${path}.message`]);
  return { ...scenario, golden: { ...golden, varying: [...golden.varying, ...backOff] } };
}

function burstableScore({ name, resources }: ManifestContainer, memory: bigint): number {
  const request = parseQuantity(resources?.requests?.memory ?? resources?.limits?.memory ?? '0');
  if (request === undefined) throw new Error(`the memory of container ${name} is not a quantity`);
  return Math.min(BEST_EFFORT - 1, BEST_EFFORT - Number((1000n * quantityUnits(request)) / memory));
}
