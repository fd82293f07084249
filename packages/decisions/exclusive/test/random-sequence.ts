import { Random } from './random.ts';
import { machine, machineNames } from './sequences.ts';
import type { PlainStep, SequenceConfig, SequenceContainer, Step } from './sequences.ts';

export interface Sequence<S extends Step = Step> {
  readonly machine: string;
  readonly config: SequenceConfig;
  readonly steps: readonly S[];
}

const MIB = 2 ** 20;
const options = [
  'full-pcpus-only',
  'distribute-cpus-across-numa',
  'align-by-socket',
  'distribute-cpus-across-cores',
  'strict-cpu-reservation',
  'prefer-align-cpus-by-uncorecache',
];

/** Settings and steps on one of the machines, always the same for a seed. The reference's answers are kept by seed. */
export function randomSequence(seed: number): Sequence<PlainStep> {
  const random = new Random(seed);
  const name = random.pick(machineNames);
  const config = randomConfig(random, name);
  return { machine: name, config, steps: randomSteps(random, name) };
}

export function randomConfig(random: Random, name: string): SequenceConfig {
  const { cpus, nodes } = machine(name);
  const topologyPolicy = random.pick(['none', 'best-effort', 'restricted', 'single-numa-node']);
  const count = random.between(1, Math.max(1, Math.floor(cpus.length / 8)));
  const specific = new Set<number>();
  const isSpecific = random.chance(0.4);
  while (isSpecific && specific.size < count) specific.add(random.pick(cpus).id);
  // Distances are looked up by the node's number in the reference: a machine with holes in them ends it.
  const isClosest = name !== 'holes' && random.chance(0.4);
  return {
    cpuPolicy: 'static',
    cpuOptions: randomOptions(random),
    memoryPolicy: random.pick(['Static', 'Static', 'None']),
    topologyPolicy,
    scope: random.pick(['container', 'pod']),
    topologyOptions: isClosest ? { 'prefer-closest-numa-nodes': 'true' } : {},
    reservedCpus: [...specific].toSorted((a, b) => a - b).join(','),
    reservedMilli: random.chance(0.8) ? count * 1000 : count * 1000 - 500,
    reservedMemory: nodes
      .filter((_, at) => at === 0 || random.chance(0.4))
      .map(({ id }) => ({ node: id, limits: { memory: random.between(1, 1024) * MIB } })),
  };
}

/** Mostly options that can be set together. */
function randomOptions(random: Random): Record<string, string> {
  const [apart, together] = [random.chance(0.1), random.pick(options)];
  const some = options.filter((option) => random.chance(0.3) || option === together);
  const isSpread = some.includes('distribute-cpus-across-cores');
  const fits = (option: string) =>
    apart ||
    !isSpread ||
    ['align-by-socket', 'distribute-cpus-across-cores', 'strict-cpu-reservation'].includes(option);
  const isByCache = some.includes('prefer-align-cpus-by-uncorecache');
  const kept = some.filter(
    (option) => fits(option) && (apart || !isByCache || option !== 'distribute-cpus-across-numa'),
  );
  return Object.fromEntries(kept.map((option) => [option, random.chance(0.9) ? 'true' : 'false']));
}

function randomSteps(random: Random, name: string): readonly PlainStep[] {
  const { cpus } = machine(name);
  const live = new Map<string, readonly SequenceContainer[]>();
  const most = random.pick([4, 8, Math.ceil(cpus.length / 4), Math.ceil(cpus.length / 2)]);
  return Array.from({ length: random.between(4, 24) }).flatMap((_, at): PlainStep[] => {
    const kind = random.next();
    const uids = [...live.keys()];
    if (kind < 0.62 || uids.length === 0) {
      const uid = `p${at}`;
      const containers = randomContainers(random, name, most);
      live.set(uid, containers);
      return [{ op: 'add', uid, containers }];
    }
    const uid = random.pick(uids);
    if (kind < 0.75) return (live.get(uid) ?? []).map((container) => ({ op: 'start', uid, name: container.name }));
    live.delete(uid);
    return [{ op: 'remove', uid }];
  });
}

function randomContainers(random: Random, name: string, most: number): readonly SequenceContainer[] {
  const { nodes } = machine(name);
  const total = nodes.reduce((sum, { memory }) => sum + memory, 0) / MIB;
  const hasPages = name !== '256-cpus' && random.chance(0.25);
  const one = (kind: SequenceContainer['kind'], at: number): SequenceContainer => {
    const part = random.chance(0.85) ? 16 : 2;
    const memory = { memory: Math.max(1, Math.floor((random.next() * total) / part)) * MIB };
    const pages: Record<string, number> =
      hasPages && random.chance(0.7) ? { 'hugepages-2Mi': random.between(1, 300) * 2 * MIB } : {};
    const milli = random.chance(0.15) ? random.between(1, 50) * 100 : random.between(1, most) * 1000;
    return { name: `${kind}-${at}`, kind, milli, memory: { ...memory, ...pages } };
  };
  const init = random.chance(0.35) ? random.between(1, 3) : 0;
  const apps = random.pick([1, 1, 1, 2, 3]);
  return [
    ...Array.from({ length: init }, (_, at) => one(random.chance(0.35) ? 'sidecar' : 'init', at)),
    ...Array.from({ length: apps }, (_, at) => one('app', at)),
  ];
}
