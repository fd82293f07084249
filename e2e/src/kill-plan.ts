import { Random } from '@kubus/simulation';

/** What is killed: every service, of those that share the pods two instances, what they talk over, and the runtime. */
export const victims = [
  'config-sources-0',
  'sync-loop-0',
  'pod-workers-0',
  'pod-workers-1',
  'prober-0',
  'prober-1',
  'volume-manager-0',
  'cri-bridge-0',
  'cni-bridge-0',
  'nats-server',
  'containerd',
] as const;
export type Victim = (typeof victims)[number];

/** What is done to the pods while processes are killed. */
export const phases = ['create', 'restart', 'delete'] as const;
export type Phase = (typeof phases)[number];

export interface PlannedKill {
  readonly victim: Victim;
  /** Which command for a pod is waited for first, counted from now; undefined: none. */
  readonly command: number | undefined;
  /** Then waits this many milliseconds. */
  readonly delayMs: number;
}

/** Kills in each phase of one seed: every victim once. */
export const killsPerPhase = victims.length;
/** Of these, so many come shortly after a command for a pod. */
const afterCommands = 8;
const longestAfterCommandMs = 150;
const longestElseMs = 800;

/** The kills of one seed: in each phase every victim, in an order and at moments of the seed's choice. */
export function planKills(seed: number): ReadonlyMap<Phase, readonly PlannedKill[]> {
  const random = new Random(seed);
  const plan = phases.map((phase) => {
    const targeted = shuffled(
      Array.from({ length: killsPerPhase }, (_, at) => at < afterCommands),
      random,
    );
    const kills = shuffled(victims, random).map((victim, at): PlannedKill => {
      return targeted[at] === true
        ? { victim, command: 1 + random.below(6), delayMs: random.between(0, longestAfterCommandMs) }
        : { victim, command: undefined, delayMs: random.between(0, longestElseMs) };
    });
    return [phase, kills] as const;
  });
  return new Map(plan);
}

export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  return items.map(() => {
    const [item] = left.splice(random.below(left.length), 1) as [T];
    return item;
  });
}
