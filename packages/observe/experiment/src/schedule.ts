import type { Experiment } from './experiment.ts';
import { Random } from '@kubus/ports';

/** The two arms that are compared: the workload without and with the faults. */
export const arms = ['baseline', 'faults'] as const;
export type Arm = (typeof arms)[number];

/** One run of the workload. */
export interface Run {
  /** Counted from 1, in the order of the runs. */
  readonly number: number;
  readonly repetition: number;
  readonly arm: Arm;
}

/** A pod of a run. */
export interface RunPod {
  readonly name: string;
  readonly manifest: object;
}

/**
 * The runs of an experiment: in each repetition both arms in random order, so that slow changes on the machine affect both
 * equally.
 */
export function schedule({ repetitions, seed }: Pick<Experiment, 'repetitions' | 'seed'>): Run[] {
  const random = new Random(seed);
  const runs: Run[] = [];
  for (let repetition = 1; repetition <= repetitions; repetition++) {
    const order = random.chance(0.5) ? arms : arms.toReversed();
    for (const arm of order) runs.push({ number: runs.length + 1, repetition, arm });
  }
  return runs;
}

/** The pods of a run. Names are unique in an experiment, so that no pod is mistaken for an earlier one. */
export function podsOf({ workload }: Pick<Experiment, 'workload'>, { number }: Pick<Run, 'number'>): RunPod[] {
  const groups = workload.pods.flatMap(({ count, template }, group) =>
    Array.from({ length: count }, (_, index) => ({ template, group, index })),
  );
  return groups.map(({ template, group, index }) => {
    const name = `${template.metadata.name}-${number}-${group}-${index}`;
    return { name, manifest: { ...template, metadata: { ...template.metadata, name } } };
  });
}
