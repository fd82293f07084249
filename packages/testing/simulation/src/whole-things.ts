import { type Block, type CpuSet, cpuSet, cpuSetText, difference, memoryNodes } from '@kubus/exclusive';
import type { PodPlan } from './pod-plan.ts';
import { cpuUse, endsFirst, hasOwnMemory } from './resource-plan.ts';

/** What the containers of a pod have, and the pod as a whole. */
interface Shares<T> {
  readonly containers: Readonly<Record<string, T>>;
  readonly whole: T;
}

/**
 * The CPUs of a pod's containers without CPUs of their own: those of the pod that no sidecar and no app container has for itself. An init
 * container that ends also has those that only later containers have.
 */
export function poolOf(plan: PodPlan, container: string, { containers, whole }: Shares<CpuSet>): CpuSet {
  const names = namesOf(plan);
  const others = endsFirst(container) ? names.slice(0, names.indexOf(container)) : names;
  const taken = others
    .filter((name) => !endsFirst(name) && cpuUse(plan, name, 'pod') === 'alone')
    .flatMap((name) => containers[name] ?? []);
  return difference(whole, taken);
}

/** What is wrong with how a pod's CPUs are divided among its containers. */
export function cpuFaults(plan: PodPlan, { containers, whole }: Shares<CpuSet>): string[] {
  const faults: string[] = [];
  const taken = new Set<number>();
  for (const name of namesOf(plan)) {
    const set = containers[name];
    if (set === undefined) {
      faults.push(`${name} has none`);
      continue;
    }
    const isAlone = cpuUse(plan, name, 'pod') === 'alone';
    const expected = isAlone ? set : poolOf(plan, name, { containers, whole });
    if (cpuSetText(set) !== cpuSetText(expected))
      faults.push(`${name} has ${cpuSetText(set)}, not ${cpuSetText(expected)}`);
    if (!isAlone) continue;
    const count = Number(plan.resources?.[name]?.['cpu']);
    const isFree = set.every((id) => whole.includes(id) && !taken.has(id));
    if (set.length !== count || !isFree)
      faults.push(`${name} has ${cpuSetText(set)} of ${cpuSetText(whole)} without ${cpuSetText(cpuSet(taken))}`);
    if (!endsFirst(name)) for (const id of set) taken.add(id);
  }
  const count = Number(plan.whole?.['cpu']);
  return whole.length === count ? faults : [...faults, `the pod has ${cpuSetText(whole)}, not ${count}`];
}

/** What is wrong with how a pod's memory is divided among its containers. Init containers that have ended have none. */
export function memoryFaults(plan: PodPlan, { containers, whole }: Shares<readonly Block[]>): string[] {
  const nodes = (blocks: readonly Block[]) => cpuSetText(memoryNodes(blocks));
  const elsewhere = Object.entries(containers).filter(
    ([, blocks]) => blocks.length > 0 && nodes(blocks) !== nodes(whole),
  );
  const lasting = namesOf(plan).filter((name) => !endsFirst(name));
  const faults = elsewhere.map(([name, blocks]) => `${name} has nodes ${nodes(blocks)}, not ${nodes(whole)}`);
  for (const { type, size } of whole) {
    const of = (name: string) => sizeOf(containers[name] ?? [], type);
    const own = lasting.filter((name) => hasOwnMemory(plan, name)).reduce((sum, name) => sum + of(name), 0);
    for (const name of lasting) {
      if (containers[name] === undefined) faults.push(`${name} has none`);
      else if (!hasOwnMemory(plan, name) && of(name) !== size - own)
        faults.push(`${name} has ${of(name)} of ${type}, not ${size - own}`);
    }
    if (own > size) faults.push(`containers have ${own} of ${size} of ${type}`);
  }
  return faults;
}

function sizeOf(blocks: readonly Block[], type: string): number {
  return blocks.filter((one) => one.type === type).reduce((sum, { size }) => sum + size, 0);
}

function namesOf({ inits, main }: PodPlan): readonly string[] {
  return [...inits, main];
}
