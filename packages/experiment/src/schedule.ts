import type { Experiment } from './experiment.ts';
import { seededRandom } from './seeded-random.ts';

/** The two things that are compared: the workload alone, and with the faults. */
export const arms = ['baseline', 'faults'] as const;
export type Arm = (typeof arms)[number];

/** One pass through the workload. */
export interface Run {
  /** From 1, in the order in which they are made. */
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
 * The runs of an experiment: in each repetition both arms, their order drawn, so that what changes slowly on the machine
 * touches both alike.
 */
export function schedule({ repetitions, seed }: Pick<Experiment, 'repetitions' | 'seed'>): Run[] {
  const random = seededRandom(seed);
  const runs: Run[] = [];
  for (let repetition = 1; repetition <= repetitions; repetition++) {
    const order = random() < 0.5 ? arms : arms.toReversed();
    for (const arm of order) runs.push({ number: runs.length + 1, repetition, arm });
  }
  return runs;
}

/** The pods of a run. No name comes twice in an experiment, so that no pod is taken for an earlier one. */
export function podsOf({ workload }: Pick<Experiment, 'workload'>, { number }: Pick<Run, 'number'>): RunPod[] {
  const groups = workload.pods.flatMap(({ count, template }, group) =>
    Array.from({ length: count }, (_, index) => ({ template, group, index })),
  );
  return groups.map(({ template, group, index }) => {
    const name = `${template.metadata.name}-${number}-${group}-${index}`;
    return { name, manifest: { ...template, metadata: { ...template.metadata, name } } };
  });
}
