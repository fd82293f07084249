import { z } from 'zod';
import { cpuSetText, parseCpuSet } from '../cpu-set.ts';
import type { Ledger } from '../ledger.ts';
import { checksum, mapText, sortedMap } from './checksum.ts';
import { type CheckpointProblem, acceptedCheckpoint } from './parse.ts';

const file = z.object({
  policyName: z.string(),
  defaultCpuSet: z.string(),
  entries: z.record(z.string(), z.record(z.string(), z.string())).default({}),
  checksum: z.int().nonnegative(),
});
type CpuFile = z.infer<typeof file>;

/** The part of a ledger that the CPU manager keeps. */
export type CpuLedger = Pick<Ledger, 'shared' | 'cpus'>;

/** The text of the reference kubelet's checkpoint `cpu_manager_state` (1.36, version 2). */
export function cpuCheckpoint(policyName: string, { shared, cpus }: CpuLedger): string {
  const entries = sortedMap(cpus, (containers) => sortedMap(containers, cpuSetText));
  const content = { policyName, defaultCpuSet: cpuSetText(shared), entries };
  const written = Object.keys(entries).length > 0 ? content : { policyName, defaultCpuSet: content.defaultCpuSet };
  return JSON.stringify({ ...written, checksum: checksum(textOf(content, '')) });
}

const kind = {
  schema: file,
  manager: 'CPU',
  prefix: '',
  sums: (content: CpuFile) => [checksum(textOf(content, '')), checksum(textOf(content, 'V2'))],
};

/** What a checkpoint has, or why the reference kubelet does not start with it. `path` is named in the problem. */
export function parseCpuCheckpoint(
  text: string,
  expected: { readonly policyName: string; readonly path: string },
): CpuLedger | CheckpointProblem {
  return acceptedCheckpoint(kind, { text, ...expected }, ledgerOf);
}

/** As the reference kubelet's structure looks as text; `version` is a part of its name in some of its versions. */
function textOf({ policyName, defaultCpuSet, entries }: Omit<CpuFile, 'checksum'>, version: '' | 'V2'): string {
  const all = mapText(entries, (containers) => mapText(containers, (cpus) => cpus));
  const name = `PolicyName:(string)${policyName} DefaultCPUSet:(string)${defaultCpuSet}`;
  const rest = `Entries:(map[string]map[string]string)${all} Checksum:(checksum.Checksum)0`;
  return `(*state.CPUManagerCheckpoint${version}){${name} ${rest}}`;
}

function ledgerOf({ defaultCpuSet, entries }: CpuFile): CpuLedger | CheckpointProblem {
  const shared = parseCpuSet(defaultCpuSet);
  if (shared === undefined) return { problem: `could not parse default cpu set ${JSON.stringify(defaultCpuSet)}` };
  const cpus: Record<string, Record<string, readonly number[]>> = {};
  for (const [pod, containers] of Object.entries(entries)) {
    for (const [container, text] of Object.entries(containers)) {
      const set = parseCpuSet(text);
      if (set === undefined) {
        const where = `for container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)}`;
        return { problem: `could not parse cpuset ${JSON.stringify(text)} ${where}` };
      }
      cpus[pod] = { ...cpus[pod], [container]: set };
    }
  }
  return { shared, cpus };
}
