import { Random } from './random.ts';
import { type Sequence, randomConfig } from './random-sequence.ts';
import { type SequenceConfig, type SequencePod, type Step, machine, machineNames } from './sequences.ts';

/** Apart from the numbers of {@link randomSequence}. */
const FIRST = 1_000_000_000;
const PAGE_MIB = 2;
const PAGES = 'hugepages-2Mi';

/** What a container, or a pod, requests: thousandths of CPUs and MiB. */
interface Amounts {
  readonly cpu: number;
  readonly memory: number;
  readonly pages: number;
}

const even = machineNames.filter((name) => name !== 'hybrid');

interface SizedContainer {
  readonly name: string;
  readonly kind: 'init' | 'sidecar' | 'app';
  readonly requests: Amounts;
  /** Its limits are its requests. */
  readonly isEqual: boolean;
}

/**
 * Settings and steps with pods that have resources of their own, among others that have none, always the same for a seed. The reference's
 * answers are kept by seed.
 *
 * Three things are left out, as the reference's answers to them are faults. A pod that has its things as a whole is not admitted again after
 * a restart: the reference refuses it, or gives it as much once more, and what it had is lost. There is no restart with
 * strict-cpu-reservation: the reference that is compared with does not start with its own checkpoint. There is no machine whose cores differ
 * in size, on which the reference gives CPUs that others have, or that are reserved.
 */
export function randomWholeSequence(seed: number): Sequence {
  const random = new Random(FIRST + seed);
  const name = random.pick(even);
  const config = { ...randomConfig(random, name), podLevel: true };
  return { machine: name, config, steps: randomSteps(random, name, config) };
}

function randomSteps(random: Random, name: string, config: SequenceConfig): readonly Step[] {
  const { cpus } = machine(name);
  const live = new Map<string, SequencePod>();
  const most = random.pick([4, 8, Math.ceil(cpus.length / 4), Math.ceil(cpus.length / 2)]);
  const mayRestart = config.cpuOptions['strict-cpu-reservation'] !== 'true';
  const isAsWhole = ({ resources }: SequencePod) =>
    resources !== undefined && config.scope === 'pod' && config.topologyPolicy !== 'none';
  return Array.from({ length: random.between(4, 24) }).flatMap((_, at): readonly Step[] => {
    const kind = random.next();
    const uids = [...live.keys()];
    if (kind < 0.62 || uids.length === 0) {
      const uid = `p${at}`;
      const spec = randomPod(random, name, most);
      live.set(uid, spec);
      return [{ op: 'add', uid, spec }];
    }
    if (kind < 0.68 && mayRestart) {
      const again = uids.filter((uid) => !isAsWhole(live.get(uid) ?? { containers: [] }));
      return [{ op: 'restart' }, ...again.map((uid): Step => ({ op: 'again', uid }))];
    }
    const uid = random.pick(uids);
    if (kind < 0.8) return started(uid, live.get(uid) ?? { containers: [] });
    live.delete(uid);
    return [{ op: 'remove', uid }];
  });
}

function started(uid: string, { initContainers, containers }: SequencePod): readonly Step[] {
  return [...(initContainers ?? []), ...containers].map(({ name }): Step => ({ op: 'start', uid, name }));
}

function randomPod(random: Random, name: string, most: number): SequencePod {
  const isPlain = random.chance(0.2);
  const containers = randomContainers(random, name, { most, isEach: isPlain && random.chance(0.8) });
  const of = (isApp: boolean) => containers.filter(({ kind }) => (kind === 'app') === isApp).map(containerOf);
  const spec = { initContainers: of(false), containers: of(true) };
  if (isPlain) return spec;
  const needed = greatest(containers);
  const isExact = random.chance(0.25);
  const more = (amount: number, step: number, top: number) =>
    isExact && amount > 0 ? amount : amount + step * random.between(amount > 0 ? 0 : 1, top);
  // Not always a whole number of CPUs.
  const cpu = more(Math.ceil(needed.cpu / 1000) * 1000, 1000, Math.max(1, Math.floor(most / 2)));
  const hasPages = needed.pages > 0 || random.chance(0.05);
  const requests = {
    cpu: random.chance(0.12) ? cpu + 500 : cpu,
    memory: more(needed.memory, 64, 32),
    pages: hasPages ? more(needed.pages, PAGE_MIB, 100) : 0,
  };
  const limits = random.chance(0.08) ? { ...requests, cpu: requests.cpu + 1000 } : requests;
  return { ...spec, resources: { requests: list(requests), limits: list(limits) } };
}

/** @param isEach each of the containers requests CPUs and memory */
function randomContainers(
  random: Random,
  name: string,
  { most, isEach }: { readonly most: number; readonly isEach: boolean },
): readonly SizedContainer[] {
  const { nodes } = machine(name);
  const total = nodes.reduce((sum, { memory }) => sum + memory, 0) / 2 ** 20;
  const hasPages = name !== '256-cpus' && random.chance(0.2);
  const one = (kind: SizedContainer['kind'], at: number): SizedContainer => {
    const what = isEach ? 0.5 : random.next();
    const container = { name: `${kind}-${at}`, kind, isEqual: what < 0.9 };
    if (what < 0.35) return { ...container, requests: { cpu: 0, memory: 0, pages: 0 } };
    const isWhole = random.chance(0.8);
    const cpu = isWhole ? random.between(1, Math.max(1, Math.floor(most / 2))) * 1000 : random.between(1, 30) * 100;
    const memory = Math.max(1, Math.floor((random.next() * total) / (random.chance(0.9) ? 32 : 4)));
    const pages = hasPages && random.chance(0.6) ? random.between(1, 150) * PAGE_MIB : 0;
    if (what < 0.42) return { ...container, requests: { cpu, memory: 0, pages } };
    if (what < 0.49) return { ...container, requests: { cpu: 0, memory, pages } };
    return { ...container, requests: { cpu, memory, pages } };
  };
  const init = random.chance(0.45) ? random.between(1, 3) : 0;
  return [
    ...Array.from({ length: init }, (_, at) => one(random.chance(0.45) ? 'sidecar' : 'init', at)),
    ...Array.from({ length: random.pick([1, 2, 2, 3, 4]) }, (_, at) => one('app', at)),
  ];
}

/** The most that the containers request at the same time. A pod that requests less is not valid. */
function greatest(containers: readonly SizedContainer[]): Amounts {
  const most = (amount: keyof Amounts) => {
    let [kept, found] = [0, 0];
    for (const { kind, requests } of containers) {
      found = Math.max(found, kept + requests[amount]);
      if (kind !== 'init') kept += requests[amount];
    }
    return found;
  };
  return { cpu: most('cpu'), memory: most('memory'), pages: most('pages') };
}

function containerOf({ name, kind, requests, isEqual }: SizedContainer): SequencePod['containers'][number] {
  const limits = list(requests);
  const resources = { requests: isEqual ? limits : list({ ...requests, cpu: requests.cpu / 2 }), limits };
  return {
    ...{ name, image: 'i' },
    ...(Object.keys(limits).length > 0 && { resources }),
    ...(kind === 'sidecar' && { restartPolicy: 'Always' }),
  };
}

function list({ cpu, memory, pages }: Amounts): Record<string, string> {
  return {
    ...(cpu > 0 && { cpu: cpu % 1000 === 0 ? String(cpu / 1000) : `${cpu}m` }),
    ...(memory > 0 && { memory: `${memory}Mi` }),
    ...(pages > 0 && { [PAGES]: `${pages}Mi` }),
  };
}
