import type { ResourceList } from '@kubus/contracts';
import type { Random } from '@kubus/ports';
import type { PodPlan } from './pod-plan.ts';
import { DEVICE, type WholeLevel } from './simulated-machine.ts';

const PAGES = 'hugepages-2Mi';

/**
 * Most pods get resources for themselves: those of their containers, or some as a whole.
 *
 * @param level where pods have those as a whole
 */
export function withResources(plan: PodPlan, random: Random, level: WholeLevel): PodPlan {
  if (random.chance(0.25)) return plan;
  return random.chance(0.4) ? withResourcesAsWhole(plan, random, level) : withResourcesOfContainers(plan, random);
}

/** All containers have memory of their own, and some whole CPUs. */
function withResourcesOfContainers(plan: PodPlan, random: Random): PodPlan {
  const { inits, main } = plan;
  const draw = (name: string): [string, ResourceList] => [
    name,
    {
      cpu: random.pick(['1', '1', '2', '500m']),
      memory: random.pick(['256Mi', '1Gi']),
      ...(random.chance(0.3) && { [PAGES]: random.pick(['128Mi', '512Mi']) }),
      ...(name === main && random.chance(0.4) && { [DEVICE]: '1' }),
    },
  ];
  return { ...plan, resources: Object.fromEntries([...inits, main].map(draw)) };
}

/** Thousandths of CPUs, and MiB. */
interface Amounts {
  readonly cpu: number;
  readonly memory: number;
  readonly pages: number;
}

/**
 * Some containers request a part of what the pod has as a whole, not all of these CPU and memory; the others share the rest, of which nothing
 * may be left. As in the reference, a container without memory of its own is mostly refused where each is aligned on its own.
 */
function withResourcesAsWhole(plan: PodPlan, random: Random, level: WholeLevel): PodPlan {
  const { main } = plan;
  const inits = random.chance(0.6) ? [...plan.inits, `s${main.slice(1)}-${plan.inits.length}`] : plan.inits;
  const names = [...inits, main];
  const isEach = level === 'container' && random.chance(0.8);
  const draw = () => (isEach || random.chance(0.55) ? drawnPart(random, isEach) : NOTHING);
  const requests = new Map(names.map((name) => [name, draw()]));
  const needed = greatest(names, requests);
  const isAll = random.chance(0.3);
  const more = (amount: number, others: readonly number[]) =>
    amount > 0 && isAll ? amount : amount + random.pick(others);
  const pages = needed.pages > 0 ? more(needed.pages, [0, 128]) : 0;
  const cpu = more(Math.ceil(needed.cpu / 1000) * 1000, [1000, 1000, 2000]);
  return {
    ...plan,
    inits,
    whole: listOf({
      // Not always a whole number of CPUs.
      cpu: random.chance(0.12) ? cpu + 500 : cpu,
      memory: more(needed.memory, [256, 1024]),
      pages: random.chance(0.1) ? pages + 128 : pages,
    }),
    resources: Object.fromEntries(
      names.map((name) => {
        const device = name === main && random.chance(0.3) && { [DEVICE]: '1' };
        return [name, { ...listOf(requests.get(name) ?? NOTHING), ...device }];
      }),
    ),
  };
}

const NOTHING: Amounts = { cpu: 0, memory: 0, pages: 0 };

function drawnPart(random: Random, isBoth: boolean): Amounts {
  const all = {
    cpu: random.pick([1000, 1000, 2000, 500]),
    memory: random.pick([256, 1024]),
    pages: random.chance(0.2) ? random.pick([128, 256]) : 0,
  };
  const kind = isBoth ? 1 : random.fraction();
  if (kind < 0.1) return { ...all, memory: 0 };
  return kind < 0.2 ? { ...all, cpu: 0 } : all;
}

/** The most that they request at the same time. A pod that requests less is not valid. */
function greatest(names: readonly string[], requests: ReadonlyMap<string, Amounts>): Amounts {
  const most = (amount: keyof Amounts) => {
    let [kept, found] = [0, 0];
    for (const name of names) {
      const now = kept + (requests.get(name)?.[amount] ?? 0);
      found = Math.max(found, now);
      if (!endsFirst(name)) kept = now;
    }
    return found;
  };
  return { cpu: most('cpu'), memory: most('memory'), pages: most('pages') };
}

function listOf({ cpu, memory, pages }: Amounts): ResourceList {
  return {
    ...(cpu > 0 && { cpu: cpu % 1000 === 0 ? String(cpu / 1000) : `${cpu}m` }),
    ...(memory > 0 && { memory: `${memory}Mi` }),
    ...(pages > 0 && { [PAGES]: `${pages}Mi` }),
  };
}

/** Whether the container is an init container that ends before the next one starts. */
export function endsFirst(container: string): boolean {
  return ['i', 'j'].includes(container.charAt(0));
}

/** Who may run on the CPUs of a container: nobody else, the containers of its pod without CPUs of their own, or such of the whole node. */
export type CpuUse = 'alone' | 'pod' | 'node';

/** @param level where pods with resources of their own have theirs */
export function cpuUse({ resources = {}, whole }: PodPlan, container: string, level: WholeLevel): CpuUse {
  const { cpu, memory } = resources[container] ?? {};
  const isAlone = isWholeNumber(cpu) && memory !== undefined;
  if (whole === undefined || level === 'container') return isAlone ? 'alone' : 'node';
  if (!isWholeNumber(whole['cpu'])) return 'node';
  return isAlone ? 'alone' : 'pod';
}

/** Whether the container has a part of its pod's memory for itself. */
export function hasOwnMemory({ resources = {} }: PodPlan, container: string): boolean {
  const { cpu, memory } = resources[container] ?? {};
  return cpu !== undefined && memory !== undefined;
}

function isWholeNumber(cpu: string | undefined): boolean {
  return cpu !== undefined && !cpu.endsWith('m');
}
