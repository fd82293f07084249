import { type FaultAction, type FaultRule, faultRuleSchema } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';

/** Faults of messages as `kubus fault` and an experiment give them. Times in milliseconds. */
export interface RuleOptions {
  readonly pod?: string | undefined;
  readonly source?: string | undefined;
  readonly reader?: string | undefined;
  readonly kind?: FaultRule['match']['kind'];
  readonly probability?: number | undefined;
  readonly every?: number | undefined;
  readonly nth?: readonly number[] | undefined;
  readonly for?: number | undefined;
}

/** Thrown when the input is not a valid fault. */
class FaultError extends KubusError {}

/** A rule from input. @throws FaultError with the field and what is wrong. */
export function toRule(id: string, subject: string, what: FaultAction, options: RuleOptions): FaultRule {
  const { pod, source, reader, kind, probability, every, nth } = options;
  const when = given({ probability, everyNth: every, nth, forMs: options.for });
  const rule = {
    id,
    match: { subject, ...given({ pod, source, reader, kind }) },
    what,
    ...(Object.keys(when).length > 0 && { when }),
  };
  const parsed = faultRuleSchema.safeParse(rule);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  throw new FaultError('bad-fault', wrong);
}

/** One line for users: `delay runtime.fact.pod.* by 500 ms delivered to sync-loop`. */
export function describeRule({ match, what, when = {} }: FaultRule): string {
  const { subject, pod, source, reader, kind } = match;
  const { probability, everyNth, nth } = when;
  return [
    actionWords(what),
    subject,
    ...(kind === undefined ? [] : [`of kind ${kind}`]),
    ...(pod === undefined ? [] : [`about pod ${pod}`]),
    ...(source === undefined ? [] : [`from ${source}`]),
    ...(reader === undefined ? [] : [`delivered to ${reader}`]),
    ...(nth === undefined ? [] : [`only number ${nth.join(', ')}`]),
    ...(everyNth === undefined ? [] : [`every ${everyNth}.`]),
    ...(probability === undefined ? [] : [`with probability ${probability}`]),
  ].join(' ');
}

function actionWords(what: FaultAction): string {
  if (what.kind === 'delay') {
    const jitter = what.jitterMs === undefined ? '' : ` to ${what.ms + what.jitterMs} ms`;
    return `delay by ${what.ms} ms${jitter}`;
  }
  if (what.kind === 'duplicate') return `send ${what.times ?? 1} more of`;
  return what.kind === 'reorder' ? `reorder ${what.window} of` : what.kind;
}

/** Without absent fields. */
function given<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>;
}
