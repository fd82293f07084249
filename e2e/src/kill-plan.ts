import { Random } from '@kubus/ports';

export interface PlannedKill<Victim extends string> {
  readonly victim: Victim;
  /** The number of commands for a pod to wait for first; undefined: none. */
  readonly command: number | undefined;
  /** How long to wait after that, in milliseconds. */
  readonly delayMs: number;
}

export interface KillPlanOptions<Phase extends string, Victim extends string> {
  /** The actions on the pods while processes are killed. */
  readonly phases: readonly Phase[];
  readonly victims: readonly Victim[];
  /** How many of each phase come shortly after a command for a pod. */
  readonly afterCommands: number;
}

const longestAfterCommandMs = 150;
const longestElseMs = 800;

/** The kills of one seed: in each phase every victim once, in an order and at moments of the seed's choice. */
export function planKills<Phase extends string, Victim extends string>(
  seed: number,
  { phases, victims, afterCommands }: KillPlanOptions<Phase, Victim>,
): ReadonlyMap<Phase, readonly PlannedKill<Victim>[]> {
  const random = new Random(seed);
  const plan = phases.map((phase) => {
    const targeted = random.shuffled(victims.map((_, at) => at < afterCommands));
    const kills = random.shuffled(victims).map((victim, at): PlannedKill<Victim> => {
      return targeted[at] === true
        ? { victim, command: 1 + random.below(6), delayMs: random.between(0, longestAfterCommandMs) }
        : { victim, command: undefined, delayMs: random.between(0, longestElseMs) };
    });
    return [phase, kills] as const;
  });
  return new Map(plan);
}
