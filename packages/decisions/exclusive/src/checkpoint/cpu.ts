import { z } from 'zod';
import { cpuSetText, parseCpuSet } from '../cpu-set.ts';
import type { Ledger } from '../ledger.ts';
import { checksum, mapText, sortedMap } from './checksum.ts';
import { type CheckpointProblem, acceptedCheckpoint } from './parse.ts';

const file = z.object({
  policyName: z.string(),
  defaultCpuSet: z.string(),
  entries: z.record(z.string(), z.record(z.string(), z.string())).default({}),
  podEntries: z.record(z.string(), z.object({ cpuSet: z.string().default('') })).default({}),
  checksum: z.int().nonnegative(),
});
type CpuFile = z.infer<typeof file>;

/** The part of a ledger that the CPU manager keeps. */
export type CpuLedger = Pick<Ledger, 'shared' | 'cpus' | 'podCpus'>;

/**
 * The text of the reference kubelet's checkpoint `cpu_manager_state` (1.36, version 2; with the gate PodLevelResourceManagers version 3, which
 * has what pods have as a whole).
 */
export function cpuCheckpoint(policyName: string, { shared, cpus, podCpus }: CpuLedger, podLevel = false): string {
  const entries = sortedMap(cpus, (containers) => sortedMap(containers, cpuSetText));
  const podEntries = sortedMap(podCpus, (set) => ({ cpuSet: cpuSetText(set) }));
  const content = { policyName, defaultCpuSet: cpuSetText(shared), entries, podEntries };
  const written = {
    ...{ policyName, defaultCpuSet: content.defaultCpuSet },
    ...(Object.keys(entries).length > 0 && { entries }),
    ...(podLevel && Object.keys(podEntries).length > 0 && { podEntries }),
  };
  return JSON.stringify({ ...written, checksum: checksum(podLevel ? podTextOf(content) : textOf(content, '')) });
}

const kind = { schema: file, manager: 'CPU', prefix: '' };

/** With the gate, a file that was written without it is accepted, too; the other way round it is not. */
const sums = {
  old: (content: CpuFile) => [checksum(textOf(content, '')), checksum(textOf(content, 'V2'))],
  podLevel: (content: CpuFile) => [checksum(podTextOf(content)), checksum(textOf(content, ''))],
};

/** What a checkpoint has, or why the reference kubelet does not start with it. `path` is named in the problem. */
export function parseCpuCheckpoint(
  text: string,
  expected: { readonly policyName: string; readonly path: string; readonly podLevel?: boolean },
): CpuLedger | CheckpointProblem {
  const { podLevel = false } = expected;
  return acceptedCheckpoint({ ...kind, sums: podLevel ? sums.podLevel : sums.old }, { text, ...expected }, (content) =>
    ledgerOf(podLevel ? content : { ...content, podEntries: {} }),
  );
}

/** As the reference kubelet's structure looks as text; `version` is a part of its name in some of its versions. */
function textOf(content: Omit<CpuFile, 'checksum'>, version: '' | 'V2'): string {
  return `(*state.CPUManagerCheckpoint${version}){${fieldsText(content)} Checksum:(checksum.Checksum)0}`;
}

/** As {@link textOf}, with what pods have as a whole. */
function podTextOf(content: Omit<CpuFile, 'checksum'>): string {
  const pods = mapText(content.podEntries, ({ cpuSet }) => {
    const ids = (parseCpuSet(cpuSet) ?? []).map((id) => `${id}:{}`);
    return `{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[${ids.join(' ')}]}}`;
  });
  const podFields = `PodEntries:(state.PodCPUAssignments)${pods}`;
  return `(*state.CPUManagerCheckpoint){${fieldsText(content)} ${podFields} Checksum:(checksum.Checksum)0}`;
}

function fieldsText({ policyName, defaultCpuSet, entries }: Omit<CpuFile, 'checksum'>): string {
  const all = mapText(entries, (containers) => mapText(containers, (cpus) => cpus));
  const name = `PolicyName:(string)${policyName} DefaultCPUSet:(string)${defaultCpuSet}`;
  return `${name} Entries:(map[string]map[string]string)${all}`;
}

function ledgerOf({ defaultCpuSet, entries, podEntries }: CpuFile): CpuLedger | CheckpointProblem {
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
  const podCpus: Record<string, readonly number[]> = {};
  for (const [pod, { cpuSet }] of Object.entries(podEntries)) {
    const set = parseCpuSet(cpuSet);
    if (set === undefined) return { problem: `failed to parse cpuset: ${JSON.stringify(cpuSet)}` };
    podCpus[pod] = set;
  }
  return { shared, cpus, podCpus };
}
