import {
  type ActiveFault,
  type FaultAction,
  type FaultRule,
  faultRule,
  instanceJournal,
  serviceInstance,
  subjectMatches,
} from '@kubus/contracts';

/** A message on its way, in the process that sends or hears it. */
export interface PassingMessage {
  /** Below `kubus.<node>.`. */
  readonly subject: string;
  /** The instance that published it. */
  readonly source: string;
  /** UID of the pod that it is about. */
  readonly pod: string | undefined;
  /** The instance that is about to hear it; undefined where it is published. */
  readonly reader: string | undefined;
}

/** How many messages each rule has met, by its name. */
export type Counters = ReadonlyMap<string, number>;

/** A rule that is applied to a message, with what was drawn for it. */
export interface Applied {
  readonly rule: string;
  readonly what: FaultAction['kind'];
  /** Of a delay: milliseconds. */
  readonly ms?: number;
  /** Of a duplicate: how many times more. */
  readonly times?: number;
}

/** A wait for others, see {@link FaultAction}. */
export interface Reordering {
  readonly rule: string;
  readonly window: number;
  readonly holdMs: number;
}

/** What becomes of a message. */
export interface Fate {
  readonly dropped: boolean;
  /** How often it is delivered, if it is not dropped. */
  readonly copies: number;
  readonly delayMs: number;
  readonly reordering: Reordering | undefined;
  /** The rules that made it so; none: it is left alone. */
  readonly applied: readonly Applied[];
  readonly counters: Counters;
}

/** How long a message waits for others at most, in milliseconds. */
const HOLD_MS = 1_000;

/**
 * What tells of faults, who serves and journals are never disturbed: nobody could end a fault, commands would wait for a peer
 * that nobody has heard of for reasons that no record shows, and what a fault led to could not be replayed.
 */
const untouchable = [
  `${faultRule.area}.>`,
  `${serviceInstance.area}.fact.${serviceInstance.name}.>`,
  `${instanceJournal.area}.event.${instanceJournal.name}.>`,
];

/**
 * What the rules make of a message. They are applied in their order: delays add up, copies too, and a message that one
 * has dropped the others do not meet.
 *
 * @param random gives numbers in [0, 1); asked only where a rule leaves something to chance.
 * @param now milliseconds since the Unix epoch.
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
    const told = { rule: rule.id, what: what.kind };
    if (what.kind === 'drop') {
      applied.push(told);
      return { dropped: true, copies, delayMs, reordering, applied, counters: counted };
    }
    if (what.kind === 'delay') {
      const ms = what.ms + (what.jitterMs === undefined ? 0 : what.jitterMs * random());
      delayMs += ms;
      applied.push({ ...told, ms });
    } else if (what.kind === 'duplicate') {
      const times = what.times ?? 1;
      copies += times;
      applied.push({ ...told, times });
    } else {
      reordering = { rule: rule.id, window: what.window, holdMs: what.holdMs ?? HOLD_MS };
      applied.push(told);
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

/** Whether the name of a service or of an instance means the instance. */
function isNamed(name: string, instance: string): boolean {
  return instance === name || instance.replace(/-\d+$/, '') === name;
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
