import { type FaultAction, type FaultRule, type ServiceFault, serviceFaultSchema } from '@kubus/contracts';
import { toError } from '@kubus/ports';
import * as z from 'zod';
import { durationSchema } from './duration.ts';
import { toRule } from './fault-rule.ts';

/** A fault of an experiment, and when it starts: milliseconds after the start of the workload. */
export type ExperimentFault =
  | { readonly at: number; readonly rule: FaultRule }
  | { readonly at: number; readonly service: string; readonly fault: ServiceFault };

const begin = { at: durationSchema.prefault('0s') };

const message = {
  ...begin,
  source: z.string().optional(),
  reader: z.string().optional(),
  kind: z.enum(['fact', 'cmd', 'event', 'reply']).optional(),
  probability: z.number().optional(),
  every: z.int().optional(),
  nth: z.array(z.int()).optional(),
  for: durationSchema.optional(),
};

const subject = z.string();
const service = z.string().min(1);

/** The fields of each kind of fault, by its first word. */
const verbs = {
  drop: z.strictObject({ drop: subject, ...message }),
  delay: z.strictObject({ delay: subject, by: durationSchema, jitter: durationSchema.optional(), ...message }),
  duplicate: z.strictObject({ duplicate: subject, times: z.int().optional(), ...message }),
  reorder: z.strictObject({ reorder: subject, window: z.int(), hold: durationSchema.optional(), ...message }),
  pause: z.strictObject({ pause: service, for: durationSchema, ...begin }),
  kill: z.strictObject({ kill: service, ...begin }),
  restart: z.strictObject({ restart: service, ...begin }),
};
type Verb = keyof typeof verbs;
type Written = { [V in Verb]: z.infer<(typeof verbs)[V]> };

const isVerb = (name: string): name is Verb => Object.hasOwn(verbs, name);

/** One entry under `faults`: its first word names the kind, as in `kubus fault`. */
export const experimentFaultSchema = z
  .record(z.string(), z.unknown())
  .transform((written, context): ExperimentFault => {
    const named = Object.keys(written).filter(isVerb);
    const [verb] = named;
    if (verb === undefined || named.length > 1) {
      context.addIssue({ code: 'custom', message: `must have one of ${Object.keys(verbs).join(', ')}` });
      return z.NEVER;
    }
    const parsed = verbs[verb].safeParse(written);
    if (!parsed.success) {
      for (const { path, message: text } of parsed.error.issues)
        context.addIssue({ code: 'custom', path, message: text });
      return z.NEVER;
    }
    try {
      return toFault(parsed.data);
    } catch (error) {
      context.addIssue({ code: 'custom', message: toError(error).message });
      return z.NEVER;
    }
  });

function toFault(written: Written[Verb]): ExperimentFault {
  const { at } = written;
  if ('pause' in written) return ofService(at, written.pause, { what: 'pause', forMs: written.for });
  if ('kill' in written) return ofService(at, written.kill, { what: 'kill' });
  if ('restart' in written) return ofService(at, written.restart, { what: 'restart' });
  const { about, what } = toAction(written);
  return { at, rule: toRule('fault', about, what, written) };
}

function toAction(written: Written['drop' | 'delay' | 'duplicate' | 'reorder']): { about: string; what: FaultAction } {
  if ('drop' in written) return { about: written.drop, what: { kind: 'drop' } };
  if ('delay' in written) {
    const { delay: about, by: ms, jitter: jitterMs } = written;
    return { about, what: { kind: 'delay', ms, ...(jitterMs !== undefined && { jitterMs }) } };
  }
  if ('duplicate' in written) {
    const { duplicate: about, times } = written;
    return { about, what: { kind: 'duplicate', ...(times !== undefined && { times }) } };
  }
  const { reorder: about, window, hold: holdMs } = written;
  return { about, what: { kind: 'reorder', window, ...(holdMs !== undefined && { holdMs }) } };
}

function ofService(at: number, name: string, fault: ServiceFault): ExperimentFault {
  return { at, service: name, fault: serviceFaultSchema.parse(fault) };
}
