import { Random } from '@kubus/ports';
import type { NodeExperiment } from './experiment.ts';

/** One run of an arm. */
export interface Run {
  /** Counted from 1, in the order of the runs. */
  readonly number: number;
  readonly repetition: number;
  /** The name of the arm. */
  readonly arm: string;
}

/** A pod of a run. */
export interface RunPod {
  readonly name: string;
  readonly manifest: { readonly metadata: { readonly namespace?: string } };
}

/** What decides the order of the runs. */
interface Scheduled {
  readonly repetitions: number;
  readonly seed: number;
  readonly arms: readonly [{ readonly name: string }, { readonly name: string }];
}

/**
 * The runs of an experiment: in each repetition both arms in random order, so that slow changes on the machine affect both
 * equally.
 */
export function schedule({ repetitions, seed, arms }: Scheduled): Run[] {
  const random = new Random(seed);
  const runs: Run[] = [];
  for (let repetition = 1; repetition <= repetitions; repetition++) {
    const order = random.chance(0.5) ? arms : arms.toReversed();
    for (const { name } of order) runs.push({ number: runs.length + 1, repetition, arm: name });
  }
  return runs;
}

/** The pods of a run. Names are unique in an experiment, so that no pod is mistaken for an earlier one. */
export function podsOf({ workload }: Pick<NodeExperiment, 'workload'>, { number }: Pick<Run, 'number'>): RunPod[] {
  const groups = workload.pods.flatMap(({ count, template }, group) =>
    Array.from({ length: count }, (_, index) => ({ template, group, index })),
  );
  return groups.map(({ template, group, index }) => {
    const name = `${template.metadata.name}-${number}-${group}-${index}`;
    return { name, manifest: { ...template, metadata: { ...template.metadata, name } } };
  });
}
