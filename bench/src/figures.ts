import type { AtOnce, FullNode, HostedNode, Pair, WithVolumes } from './measure.ts';
import { type PerProcess, medians, total } from './process-usage.ts';
import type { Figure } from './report.ts';
import { streamFigures } from './stream-figures.ts';
import type { Streams } from './streams.ts';
import { scraped } from './scrapes.ts';
import { type OneAtATime, median } from './subject.ts';

export interface Measured {
  readonly singles: readonly (Pair<OneAtATime> & { readonly cpu: PerProcess })[];
  readonly burst: number;
  readonly bursts: readonly Pair<AtOnce>[];
  readonly fullNode: FullNode | undefined;
  readonly hosted: HostedNode | undefined;
  readonly volumes: WithVolumes | undefined;
  readonly streams: Streams | undefined;
  /** Share of the bus in a pod's start, 0 to 1. */
  readonly busShare: number;
}

/**
 * The goals, relative to the floor where there is one, because machines differ. They were set on a machine where the CRI
 * calls alone took
 * 154 ms for one pod, 2.8 s for 30 pods and 10.9 s for 100 pods (8.7 s to remove).
 */
const goals = {
  create: (floor: number) => floor + 0.03,
  /** A quarter of the kubelet's 1.005 s, whose floor was 0.07 s. */
  remove: (floor: number) => floor + 0.18,
  burst: (floor: number) => floor * (3.1 / 2.8),
  full: (floor: number) => floor * (11.5 / 10.9),
  fullRemoved: (floor: number) => floor * (10 / 8.7),
  /** 0.4 of the kubelet's 0.50 s. */
  createWithVolumes: (floor: number) => floor + 0.046,
  fullWithVolumes: (floor: number) => floor * (12.5 / 10.9),
  cpuPerPodMs: 40,
  cpuPerPodWithVolumesMs: 55,
  idlePercent: 3,
  scrapeMs: 50,
  memoryMiB: 350,
  hostedMemoryMiB: 180,
  restartS: 1,
  takeOverS: 2,
};

/** Medians of the runs with their goals, and the share of each process. */
export function figuresOf(measured: Measured): {
  figures: Figure[];
  processes: Record<string, PerProcess>;
} {
  const { singles, bursts, burst, fullNode, hosted, volumes, streams, busShare } = measured;
  const cpu = medians(singles.map((run) => run.cpu));
  const burstCpu = medians(bursts.map((run) => run.kubus.cpu));
  const figures: Figure[] = [
    paired('create to Ready, one at a time, p50', goals.create, {
      floor: median(singles.flatMap((run) => run.floor.created)),
      kubus: median(singles.flatMap((run) => run.kubus.created)),
    }),
    paired('delete to removed, one at a time, p50', goals.remove, {
      floor: median(singles.flatMap((run) => run.floor.removed)),
      kubus: median(singles.flatMap((run) => run.kubus.removed)),
    }),
    paired(`${burst} pods at once, all Ready`, goals.burst, {
      floor: median(bursts.map((run) => run.floor.created)),
      kubus: median(bursts.map((run) => run.kubus.created)),
    }),
    paired(`${burst} pods deleted, all removed`, undefined, {
      floor: median(bursts.map((run) => run.floor.removed)),
      kubus: median(bursts.map((run) => run.kubus.removed)),
    }),
    { name: 'share of the bus in create to Ready', unit: '%', kubus: busShare * 100 },
    { name: 'agent CPU per pod, one at a time', unit: 'ms', kubus: total(cpu), goal: goals.cpuPerPodMs },
    { name: `agent CPU per pod, ${burst} at once`, unit: 'ms', kubus: total(burstCpu), goal: goals.cpuPerPodMs },
  ];
  const processes: Record<string, PerProcess> = { 'CPU per pod, ms': cpu, [`at once, ms`]: burstCpu };
  if (fullNode !== undefined) {
    figures.push(...fullNodeFigures(fullNode));
    processes['idle, % of a core'] = fullNode.idle;
    processes['memory, MiB PSS'] = fullNode.memory;
    for (const path of scraped) processes[`${path}, ms`] = fullNode.scrapes[path];
  }
  if (hosted !== undefined) {
    const { pods, cpu: hostedCpu, memory } = hosted;
    figures.push(
      {
        name: `hosted in one: memory with ${pods} pods (PSS)`,
        unit: 'MiB',
        kubus: total(memory),
        goal: goals.hostedMemoryMiB,
      },
      {
        name: `hosted in one: agent CPU per pod, ${pods} at once`,
        unit: 'ms',
        kubus: total(hostedCpu),
        goal: goals.cpuPerPodMs,
      },
    );
    processes['hosted in one, MiB PSS'] = memory;
  }
  if (volumes !== undefined && fullNode !== undefined) {
    const single = median(singles.flatMap((run) => run.floor.created));
    figures.push(...volumeFigures(volumes, { single, full: fullNode.floor.created }));
    processes[`with volumes, CPU per pod, ms`] = volumes.atOnce.cpu;
  }
  if (streams !== undefined) figures.push(...streamFigures(streams));
  return { figures, processes };
}

/** The floor is that of pods without volumes. */
function volumeFigures(
  { single, pods, atOnce }: WithVolumes,
  floors: { readonly single: number; readonly full: number },
): Figure[] {
  const name = `a cluster’s node, ${pods} pods with volumes at once`;
  return [
    paired('a cluster’s node, with volumes: create to Ready, p50', goals.createWithVolumes, {
      floor: floors.single,
      kubus: median(single.created),
    }),
    seconds('a cluster’s node, with volumes: delete to removed, p50', median(single.removed)),
    paired(`${name}, all Ready`, goals.fullWithVolumes, { floor: floors.full, kubus: atOnce.created }),
    seconds(`${name}, all removed`, atOnce.removed),
    { name: `${name}: agent CPU per pod`, unit: 'ms', kubus: total(atOnce.cpu), goal: goals.cpuPerPodWithVolumesMs },
  ];
}

function fullNodeFigures({
  pods,
  floor,
  kubus,
  idle,
  memory,
  criCalls,
  scrapes,
  restarts,
  takeOvers,
}: FullNode): Figure[] {
  const name = (text: string) => text.replace('N', String(pods));
  const full = { floor: floor.created, kubus: kubus.created };
  const removed = { floor: floor.removed, kubus: kubus.removed };
  const slowest = Math.max(...Object.values(restarts)) / 1000;
  return [
    paired(name('N pods at once, all Ready'), goals.full, full),
    paired(name('N pods deleted, all removed'), goals.fullRemoved, removed),
    { name: name('idle CPU with N pods'), unit: '%', kubus: total(idle), goal: goals.idlePercent },
    { name: name('PLEG, cri-bridge: CPU with N idle pods'), unit: '%', kubus: idle['cri-bridge'] ?? 0 },
    { name: name('PLEG, cri-bridge: CPU per pod, N at once'), unit: 'ms', kubus: kubus.cpu['cri-bridge'] ?? 0 },
    { name: name('PLEG, CRI calls a minute with N idle pods'), unit: 'calls', kubus: criCalls.idlePerMinute },
    { name: name('PLEG, CRI calls per pod, N at once'), unit: 'calls', kubus: criCalls.perPod },
    ...scraped.map((path) => ({
      ...{ name: name(`scrape of ${path} with N pods: agent CPU`), unit: 'ms' as const },
      ...{ kubus: total(scrapes[path]), goal: goals.scrapeMs },
    })),
    { name: name('memory with N pods (PSS)'), unit: 'MiB', kubus: total(memory), goal: goals.memoryMiB },
    { name: 'a service killed: serving again, the slowest', unit: 's', kubus: slowest, goal: goals.restartS },
    takeOver(name('N pods with one more pod-workers, from the command'), takeOvers.added),
    takeOver(name('N pods with one less, from the command'), takeOvers.removed),
    takeOver(name('N pods after one of two is lost'), takeOvers.killed),
  ];
}

function takeOver(name: string, ms: number): Figure {
  return { name, unit: 's', kubus: ms / 1000, goal: goals.takeOverS };
}

function seconds(name: string, ms: number): Figure {
  return { name, unit: 's', kubus: ms / 1000 };
}

/** Milliseconds become seconds. */
function paired(name: string, goal: ((floor: number) => number) | undefined, pair: Pair<number>): Figure {
  const floor = pair.floor / 1000;
  return { name, unit: 's', floor, kubus: pair.kubus / 1000, ...(goal && { goal: goal(floor) }) };
}
