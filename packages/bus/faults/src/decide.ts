import {
  type ActiveFault,
  type FaultAction,
  type FaultRule,
  faultRule,
  instanceJournal,
  serviceInstance,
  serviceOfInstance,
  subjectMatches,
} from '@kubus/contracts';

/** A message in the process that sends or receives it. */
export interface PassingMessage {
  /** Relative to `kubus.<node>.`. */
  readonly subject: string;
  /** The instance that published it. */
  readonly source: string;
  /** UID of the pod that it is about. */
  readonly pod: string | undefined;
  /** The instance that is about to receive it; undefined where it is published. */
  readonly reader: string | undefined;
}

/** The number of matching messages for each rule, by its name. */
export type Counters = ReadonlyMap<string, number>;

/** A rule that is applied to a message, with its random values. */
export interface Applied {
  readonly rule: string;
  readonly what: FaultAction['kind'];
  /** For a delay: milliseconds. */
  readonly ms?: number;
  /** For a duplicate: how many additional times. */
  readonly times?: number;
}

/** A wait for other messages, see {@link FaultAction}. */
interface Reordering {
  readonly rule: string;
  readonly window: number;
  readonly holdMs: number;
}

/** What happens to a message. */
export interface Fate {
  readonly dropped: boolean;
  /** How often it is delivered, if it is not dropped. */
  readonly copies: number;
  readonly delayMs: number;
  readonly reordering: Reordering | undefined;
  /** The rules that were applied; none: the message is not disturbed. */
  readonly applied: readonly Applied[];
  readonly counters: Counters;
}

/** How long a message waits for others at most, in milliseconds. */
const HOLD_MS = 1_000;

/**
 * Messages about faults, announcements and journals are never disturbed: otherwise a fault could not be ended, commands would wait for a peer
 * that was not announced, for reasons that no record shows, and the consequences of a fault could not be replayed.
 */
const untouchable = [
  `${faultRule.area}.>`,
  `${serviceInstance.area}.fact.${serviceInstance.name}.>`,
  `${instanceJournal.area}.event.${instanceJournal.name}.>`,
];

/**
 * What the rules do to a message. They are applied in their order: delays and copies add up, and a message that one rule
 * drops does not reach the others.
 *
 * @param random returns numbers in [0, 1); called only where a rule is random
 * @param now milliseconds since the Unix epoch
 */
export function decide(
  rules: readonly ActiveFault[],
  message: PassingMessage,
  counters: Counters,
  random: () => number,
  now: number,
): Fate {
  const met = rules.filter((active) => active.since <= now && now < active.until && isMeant(active.rule, message));
  const counted = new Map(counters);
  const applied: Applied[] = [];
  let copies = 1;
  let delayMs = 0;
  let reordering: Reordering | undefined;
  for (const { rule } of met) {
    const count = (counted.get(rule.id) ?? 0) + 1;
    counted.set(rule.id, count);
    if (!isTime(rule, count, random)) continue;
    const { what } = rule;
    const disturbance = { rule: rule.id, what: what.kind };
    if (what.kind === 'drop') {
      applied.push(disturbance);
      return { dropped: true, copies, delayMs, reordering, applied, counters: counted };
    }
    if (what.kind === 'delay') {
      const ms = what.ms + (what.jitterMs === undefined ? 0 : what.jitterMs * random());
      delayMs += ms;
      applied.push({ ...disturbance, ms });
    } else if (what.kind === 'duplicate') {
      const times = what.times ?? 1;
      copies += times;
      applied.push({ ...disturbance, times });
    } else {
      reordering = { rule: rule.id, window: what.window, holdMs: what.holdMs ?? HOLD_MS };
      applied.push(disturbance);
    }
  }
  return { dropped: false, copies, delayMs, reordering, applied, counters: counted };
}

function isMeant({ match }: FaultRule, message: PassingMessage): boolean {
  const { subject, source, pod, reader } = message;
  if (match.reader === undefined ? reader !== undefined : reader === undefined || !isNamed(match.reader, reader)) {
    return false;
  }
  if (!subjectMatches(match.subject, subject)) return false;
  if (match.pod !== undefined && match.pod !== pod) return false;
  if (match.source !== undefined && !isNamed(match.source, source)) return false;
  if (match.kind !== undefined && match.kind !== kindOf(subject)) return false;
  return !untouchable.some((pattern) => subjectMatches(pattern, subject));
}

/** Whether a name, of a service or an instance, includes the instance. */
function isNamed(name: string, instance: string): boolean {
  return instance === name || serviceOfInstance(instance) === name;
}

/** `fact`, `cmd`, `event` or `reply`. */
function kindOf(subject: string): string | undefined {
  const [first, second] = subject.split('.');
  return first === 'reply' ? first : second;
}

function isTime({ when = {} }: FaultRule, count: number, random: () => number): boolean {
  const { nth, everyNth, probability } = when;
  if (nth?.includes(count) === false) return false;
  if (everyNth !== undefined && count % everyNth !== 0) return false;
  return probability === undefined || random() < probability;
}
