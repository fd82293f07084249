import { recordedMessage } from '@kubus/causality';
import { disturbService, podPatterns } from '@kubus/contracts';
import {
  type ExperimentFault,
  type NodeExperiment,
  type Run,
  type RunPod,
  type RunResult,
  podEnding,
  podLatencies,
  podsOf,
  schedule,
} from '@kubus/experiment';
import { FaultRules } from '@kubus/faults';
import { agentCpu } from '@kubus/launcher';
import { toError } from '@kubus/ports';
import { systemClock } from '@kubus/service-kit';
import { setTimeout as wait } from 'node:timers/promises';
import type { NodeLink } from '../node/node-link.ts';
import { printError } from '../output/output.ts';
import type { NodeFolder } from './experiment-nodes.ts';
import { podSource } from './pod-source.ts';
import { WorkloadPods } from './workload-pods.ts';

/** The node on which an experiment runs. It must have no other pods and must have been started with `--faults`. */
interface PreparedNode {
  readonly link: NodeLink;
  readonly folder: NodeFolder;
}

/** Performs the runs of an experiment with numbers from `first` to `last`. Each step is a line on standard error. */
export async function runExperiment(
  experiment: NodeExperiment,
  { link, folder }: PreparedNode,
  { first, last }: { readonly first: number; readonly last: number },
): Promise<RunResult[]> {
  const source = await podSource(experiment.workload.from, folder);
  const pods = await WorkloadPods.read(link, source);
  const rules = new FaultRules(link.bus, () => systemClock.now());
  await rules.whenPresent();
  const runs = schedule(experiment);
  const results: RunResult[] = [];
  for (const run of runs.filter(({ number }) => number >= first && number <= last)) {
    const { number, repetition, arm } = run;
    const about = `run ${number} of ${runs.length} (repetition ${repetition}, ${arm})`;
    const progress = (what: string) => printError(`kubus: ${about}: ${what}`);
    results.push(await runOnce(experiment, { link, pods, faults: new RunFaults(link, rules) }, run, progress));
  }
  await source.close();
  return results;
}

async function runOnce(
  experiment: NodeExperiment,
  { link, pods, faults }: { link: NodeLink; pods: WorkloadPods; faults: RunFaults },
  run: Run,
  progress: (what: string) => void,
): Promise<RunResult> {
  const { workload } = experiment;
  await pods.relieved();
  const begin = performance.now();
  const seconds = () => ((performance.now() - begin) / 1000).toFixed(1);
  const named = podsOf(experiment, run);
  const cpuBefore = await agentCpu(link.dir);
  let late: readonly string[] = [];
  try {
    const arm = experiment.arms.find(({ name }) => name === run.arm);
    await faults.begin(arm?.faults ?? []);
    progress(`${named.length} pods`);
    late = await createPods(workload, pods, named);
    await wait(workload.stay);
    const reached = `${named.length - late.length} of ${named.length} pods ${workload.until}`;
    progress(`${reached} after ${seconds()} s; removing them`);
    await Promise.all(named.map((pod) => pods.remove(pod)));
    await pods.removed(named, workload.within);
  } finally {
    await faults.end();
  }
  // Without faults, every pod can be removed now.
  await pods.allRemoved();
  const cpu = (await agentCpu(link.dir)) - cpuBefore;
  const records = await Promise.all(named.map(({ name }) => recordOf(link, podPatternsOf(pods.uidOf(name)))));
  const [latencies, endings] = [records.map(podLatencies), records.map(podEnding)];
  progress(`done after ${seconds()} s`);
  return {
    ...run,
    late,
    values: {
      start: latencies.flatMap(({ start }) => start ?? []),
      restart: latencies.flatMap(({ restarts }) => restarts),
      stop: latencies.flatMap(({ stop }) => stop ?? []),
      cpu: [cpu / named.length],
      evicted: [endings.filter(({ evicted }) => evicted).length],
      oomKilled: [endings.reduce((sum, { oomKilled }) => sum + oomKilled, 0)],
    },
  };
}

/** Creates the pods of a run as the workload says; returns those that did not reach the expected state in time. */
async function createPods(
  { how, until, within }: NodeExperiment['workload'],
  pods: WorkloadPods,
  named: readonly RunPod[],
): Promise<readonly string[]> {
  const late: string[] = [];
  const waitFor = async ({ name }: RunPod) => {
    if (!(await pods.reached(name, until, within))) late.push(name);
  };
  if (how === 'atOnce') {
    await Promise.all(named.map((pod) => pods.create(pod)));
    await Promise.all(named.map(waitFor));
    return late;
  }
  for (const pod of named) {
    await pods.create(pod);
    await waitFor(pod);
  }
  return late;
}

const podPatternsOf = (uid: string | undefined) => (uid === undefined ? [] : podPatterns(uid));

async function recordOf(link: NodeLink, patterns: readonly string[]) {
  const stored = patterns.length === 0 ? [] : await link.record(...patterns);
  return stored.flatMap(({ message }) => recordedMessage(message) ?? []);
}

/** The faults of one run. */
class RunFaults {
  readonly #link: NodeLink;
  readonly #rules: FaultRules;
  readonly #later = new AbortController();
  readonly #started: Promise<void>[] = [];

  constructor(link: NodeLink, rules: FaultRules) {
    this.#link = link;
    this.#rules = rules;
  }

  /** Resolves when the faults with `at: 0` are active; later ones follow by themselves. */
  async begin(faults: readonly ExperimentFault[]): Promise<void> {
    for (const [index, fault] of faults.entries()) {
      if (fault.at === 0) await this.#inject(fault, index);
      else this.#started.push(this.#injectLater(fault, index));
    }
  }

  /** Clears all faults and cancels those that have not started. Throws the error of a fault that could not be injected. */
  async end(): Promise<void> {
    this.#later.abort();
    const outcomes = await Promise.allSettled(this.#started);
    await this.#rules.clear();
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw toError(outcome.reason);
  }

  async #injectLater(fault: ExperimentFault, index: number): Promise<void> {
    const { signal } = this.#later;
    await wait(fault.at, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) await this.#inject(fault, index);
  }

  async #inject(fault: ExperimentFault, index: number): Promise<void> {
    if ('rule' in fault) await this.#rules.inject({ ...fault.rule, id: `fault-${index}` });
    else await this.#link.bus.call(disturbService, fault.service, fault.fault);
  }
}
