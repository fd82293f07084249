import {
  type ExclusiveSetup,
  type Ledger,
  type Machine,
  type SetupProblem,
  admitted,
  allCpus,
  cpuFragmentation,
  emptyLedger,
  exclusiveSetup,
  memoryFragmentation,
  parseCpuSet,
  trialSettings,
  withoutPod,
} from '@kubus/exclusive';
import { Random } from '@kubus/ports';
import type { Arrivals, MachineExperiment, MachinePolicy } from './machine-experiment.ts';
import { type MachineMeasure, fragmentationOverTime } from './measures.ts';
import type { RunResult } from './report.ts';
import { schedule } from './schedule.ts';

/** The values of a run in percent, by measure, with those of {@link fragmentationOverTime}. */
type MachineValues = Readonly<Record<MachineMeasure, readonly number[]>> & Readonly<Record<string, readonly number[]>>;

/** A step: a pod arrives or leaves. Times in milliseconds. */
interface Step {
  readonly at: number;
  readonly uid: string;
  /** CPUs that it requests; 0: it leaves. */
  readonly cpus: number;
}

/** What is so from one step to the next, as parts of 1. */
interface Moment {
  readonly at: number;
  readonly fragmentation: number;
  readonly memoryFragmentation: number;
  readonly used: number;
}

/**
 * Every run of an experiment on a described machine: both arms of a repetition have the same pods at the same times. The same
 * experiment has the same results.
 *
 * @returns the runs in their order, or why a kubelet does not start with an arm's settings
 */
export function machineRuns(experiment: MachineExperiment, machine: Machine): RunResult[] | SetupProblem {
  const setups = new Map<string, ExclusiveSetup>();
  for (const { name, config } of experiment.arms) {
    const setup = setupOf(machine, config, experiment.arrivals);
    if ('problem' in setup) return { problem: `arm ${name}: ${setup.problem}` };
    setups.set(name, setup);
  }
  return schedule(experiment).flatMap((run) => {
    const setup = setups.get(run.arm);
    const random = new Random(experiment.seed * 1_000_003 + run.repetition);
    return setup === undefined ? [] : [{ ...run, late: [], values: machineRun(setup, experiment.arrivals, random) }];
  });
}

function setupOf(machine: Machine, config: MachinePolicy, { memory }: Arrivals): ExclusiveSetup | SetupProblem {
  const reserved = parseCpuSet(config.reservedSystemCPUs);
  if (reserved === undefined) return { problem: 'reservedSystemCPUs: must be a list such as 0-3,8' };
  const cpuOptions = Object.entries(config.cpuManagerPolicyOptions).flatMap(([name, value]) =>
    value === 'true' ? [name] : [],
  );
  const { topologyManagerPolicy: numaPolicy, topologyManagerScope: numaScope } = config;
  const settings = { memory: memory !== undefined, numaPolicy, numaScope, cpuOptions, reserved };
  return exclusiveSetup(machine, trialSettings(machine, settings));
}

/** One run, from an empty machine until the last pod has arrived. A pod that is refused does not come again. */
function machineRun(setup: ExclusiveSetup, arrivals: Arrivals, random: Random): MachineValues {
  const steps = stepsOf(arrivals, random);
  const end = steps.findLast(({ cpus }) => cpus > 0)?.at ?? 0;
  let ledger = emptyLedger(setup);
  const moments = [momentOf(setup, ledger, 0)];
  let [refused, split] = [0, 0];
  for (const { at, uid, cpus } of steps) {
    if (at > end) break;
    if (cpus === 0) ledger = withoutPod(ledger, uid);
    else {
      const memory = arrivals.memory === undefined ? undefined : { memory: arrivals.memory };
      const pod = { uid, containers: [{ name: 'app', kind: 'app' as const, cpus, memory }] };
      const admission = admitted(setup, ledger, pod);
      ledger = admission.ledger;
      if (admission.refusal !== undefined) refused += 1;
      else if (isSplit(setup, ledger, uid)) split += 1;
    }
    moments.push(momentOf(setup, ledger, at));
  }
  const over = (what: Exclude<keyof Moment, 'at'>, from = 0, to = end) => [100 * meanOf(moments, what, from, to)];
  const parts = fragmentationOverTime.length;
  return {
    fragmentation: over('fragmentation'),
    memoryFragmentation: over('memoryFragmentation'),
    used: over('used'),
    refused: [(100 * refused) / arrivals.count],
    split: [(100 * split) / Math.max(1, arrivals.count - refused)],
    ...Object.fromEntries(
      fragmentationOverTime.map((name, part) => [
        name,
        over('fragmentation', (end * part) / parts, (end * (part + 1)) / parts),
      ]),
    ),
  };
}

/** All arrivals and departures in their order. Nothing of it depends on who is admitted. */
function stepsOf({ count, every, stay, cpus }: Arrivals, random: Random): Step[] {
  const waiting = (mean: number) => -mean * Math.log(1 - random.fraction());
  let now = 0;
  const steps = Array.from({ length: count }).flatMap((_, index): Step[] => {
    now += waiting(every);
    const uid = `pod-${index}`;
    return [
      { at: now, uid, cpus: random.pick(cpus) },
      { at: now + waiting(stay), uid, cpus: 0 },
    ];
  });
  return steps.toSorted((a, b) => a.at - b.at);
}

function momentOf(setup: ExclusiveSetup, ledger: Ledger, at: number): Moment {
  const given = Object.values(ledger.cpus).flatMap((containers) => Object.values(containers).flat());
  return {
    at,
    fragmentation: cpuFragmentation(setup, ledger),
    memoryFragmentation: memoryFragmentation(ledger),
    used: given.length / allCpus(setup.machine).length,
  };
}

/** The mean over the time between two points, 0 where that is none. */
function meanOf(moments: readonly Moment[], what: Exclude<keyof Moment, 'at'>, from: number, to: number): number {
  if (to <= from) return 0;
  const area = moments.reduce((sum, moment, index) => {
    const until = Math.min(to, moments[index + 1]?.at ?? to);
    return sum + moment[what] * Math.max(0, until - Math.max(from, moment.at));
  }, 0);
  return area / (to - from);
}

/** Whether the pod's CPUs are on several NUMA nodes, and one has as many. */
function isSplit({ machine }: ExclusiveSetup, ledger: Ledger, uid: string): boolean {
  const given = new Set(Object.values(ledger.cpus[uid] ?? {}).flat());
  const nodes = new Set(machine.cpus.filter(({ id }) => given.has(id)).map(({ node }) => node));
  const largest = Math.max(...machine.nodes.map(({ id }) => machine.cpus.filter(({ node }) => node === id).length));
  return nodes.size > 1 && given.size <= largest;
}
