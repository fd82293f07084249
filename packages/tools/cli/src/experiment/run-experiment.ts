import { recordedMessage } from '@kubus/causality';
import { disturbService, podPatterns } from '@kubus/contracts';
import {
  type Experiment,
  type ExperimentFault,
  type PodLatencies,
  type Run,
  type RunResult,
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
import { WorkloadPods } from './workload-pods.ts';

/** The node on which an experiment runs. */
export interface ExperimentNode {
  readonly link: NodeLink;
  /** The node's manifest folder. */
  readonly manifests: string;
}

/** Called with each step of a run. */
export type Progress = (run: Run, what: string) => void;

/** Performs every run of an experiment. The node must have no other pods and must have been started with `--faults`. */
export async function runExperiment(
  experiment: Experiment,
  node: ExperimentNode,
  progress: Progress,
): Promise<RunResult[]> {
  const { link } = node;
  const pods = await WorkloadPods.read(link, node.manifests);
  const rules = new FaultRules(link.bus, () => systemClock.now());
  await rules.whenPresent();
  const results: RunResult[] = [];
  for (const run of schedule(experiment)) {
    const faults = new RunFaults(link, rules);
    results.push(await runOnce(experiment, { link, pods, faults }, run, progress));
  }
  return results;
}

async function runOnce(
  experiment: Experiment,
  { link, pods, faults }: { link: NodeLink; pods: WorkloadPods; faults: RunFaults },
  run: Run,
  progress: Progress,
): Promise<RunResult> {
  const { workload } = experiment;
  const begin = performance.now();
  const seconds = () => ((performance.now() - begin) / 1000).toFixed(1);
  const named = podsOf(experiment, run);
  const cpuBefore = await agentCpu(link.dir);
  const late: string[] = [];
  try {
    if (run.arm === 'faults') await faults.begin(experiment.faults);
    progress(run, `${named.length} pods`);
    const waitFor = async (name: string) => {
      if (!(await pods.reached(name, workload.until, workload.within))) late.push(name);
    };
    if (workload.how === 'atOnce') {
      await Promise.all(named.map((pod) => pods.create(pod)));
      await Promise.all(named.map(({ name }) => waitFor(name)));
    } else {
      for (const pod of named) {
        await pods.create(pod);
        await waitFor(pod.name);
      }
    }
    await wait(workload.stay);
    progress(
      run,
      `${named.length - late.length} of ${named.length} pods ${workload.until} after ${seconds()} s; removing them`,
    );
    await Promise.all(named.map(({ name }) => pods.remove(name)));
    await pods.removed(named, workload.within);
  } finally {
    await faults.end();
  }
  // Without faults, every pod can be removed now.
  await pods.allRemoved();
  const cpu = (await agentCpu(link.dir)) - cpuBefore;
  const latencies = await Promise.all(named.map(({ name }) => latenciesOf(link, pods.uidOf(name))));
  progress(run, `done after ${seconds()} s`);
  return {
    ...run,
    late,
    values: {
      start: latencies.flatMap(({ start }) => start ?? []),
      restart: latencies.flatMap(({ restarts }) => restarts),
      stop: latencies.flatMap(({ stop }) => stop ?? []),
      cpu: [cpu / named.length],
    },
  };
}

async function latenciesOf(link: NodeLink, uid: string | undefined): Promise<PodLatencies> {
  const stored = uid === undefined ? [] : await link.record(...podPatterns(uid));
  return podLatencies(stored.flatMap(({ message }) => recordedMessage(message) ?? []));
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
