import * as z from 'zod';
import { command, event, fact, serviceNames, serviceOfInstance } from '../declare.ts';

/** The longest time that one message can be delayed, in milliseconds. */
const LONGEST_DELAY_MS = 60_000;
/** Longest time that a process can be paused, in milliseconds. */
const LONGEST_PAUSE_MS = 600_000;

/** A service, or one of its instances. */
export const instanceName = z
  .string()
  .refine((text) => (serviceNames as readonly string[]).includes(serviceOfInstance(text)), {
    error: ({ input }) => `"${String(input)}" is neither a service nor an instance such as pod-workers-0`,
  });

/**
 * Rules are set by the launcher, the observatory and command line programs; what they send or receive in their own processes is not
 * affected.
 */
const undisturbed = /^(launcher|observatory|cli)(-|$)/;

/** Tokens with `*` for one token and `>` for all that follow, as in NATS; relative to `kubus.<node>.`. */
const subjectPattern = z
  .string()
  .refine((text) => /^(?:[^\s.*>]+|\*)(?:\.(?:[^\s.*>]+|\*))*(?:\.>)?$|^>$/.test(text), {
    error: ({ input }) =>
      `"${String(input)}" is not a subject pattern: tokens separated by dots, * for one token, > at the end for the rest`,
  })
  .refine((text) => !text.startsWith('kubus.'), {
    error: 'must be relative to kubus.<node>., such as runtime.fact.pod.*',
  });

const probability = z.number().gt(0).max(1);
const milliseconds = z.number().nonnegative().max(LONGEST_DELAY_MS);

/** The messages to which a rule applies; all conditions that are set must hold. */
export const faultMatchSchema = z
  .strictObject({
    subject: subjectPattern,
    /** UID of the pod that the message is about. */
    pod: z.string().min(1).optional(),
    /** The service or instance that published the message. */
    source: instanceName.optional(),
    /**
     * The service or instance that receives the message. With it the rule applies at that receiver only; without it,
     * where the message is published, and so for every reader and for the record.
     */
    reader: instanceName
      .refine((text) => !undisturbed.test(text), {
        error: 'cannot be disturbed: the launcher, the observatory and the command line set the rules',
      })
      .optional(),
    kind: z.enum(['fact', 'cmd', 'event', 'reply']).optional(),
  })
  .refine(({ source, reader }) => source === undefined || reader !== undefined || !undisturbed.test(source), {
    error:
      'messages of the launcher, the observatory and the command line are disturbed only at their receivers: name a reader',
    path: ['source'],
  });

/** What happens to a message. */
export const faultActionSchema = z.discriminatedUnion('kind', [
  /** It is lost. Its sender does not notice. */
  z.strictObject({ kind: z.literal('drop') }),
  /** It is delayed, together with all later messages on the same subject: the order is kept, as on a slow connection. */
  z.strictObject({
    kind: z.literal('delay'),
    ms: milliseconds,
    /** A random additional delay up to this number of milliseconds. */
    jitterMs: milliseconds.optional(),
  }),
  /** It is delivered this many additional times. */
  z.strictObject({ kind: z.literal('duplicate'), times: z.int().min(1).max(100).optional() }),
  /** Messages wait until this number has arrived, or until the waiting time is over; then they are delivered in another order. */
  z.strictObject({
    kind: z.literal('reorder'),
    window: z.int().min(2).max(1000),
    /** Default: 1000. */
    holdMs: milliseconds.positive().optional(),
  }),
]);
export type FaultAction = z.infer<typeof faultActionSchema>;

/** Which of the matching messages; each process counts those that match where the rule applies. All conditions that are set must hold. */
export const faultTimesSchema = z.strictObject({
  probability: probability.optional(),
  /** Every n-th message. */
  everyNth: z.int().min(1).optional(),
  /** Only these messages, counted from 1. */
  nth: z.array(z.int().min(1)).min(1).optional(),
  /** Duration in milliseconds. Default: until it is cleared, or the launcher ends. */
  forMs: z.number().positive().optional(),
});

/** A fault and the messages to which it applies. */
export const faultRuleSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, {
    error: ({ input }) =>
      `"${String(input)}" is not a valid name: lower case letters, digits, and - in between, at most 63 characters`,
  }),
  match: faultMatchSchema,
  what: faultActionSchema,
  when: faultTimesSchema.optional(),
});
export type FaultRule = z.infer<typeof faultRuleSchema>;

/** A rule with its times, in milliseconds since the Unix epoch. */
export const activeFaultSchema = z.object({
  rule: faultRuleSchema,
  since: z.number(),
  /** When it ends by itself, where that was specified. */
  ends: z.number().optional(),
  /** When it expires unless the launcher extends it. The launcher does so repeatedly while it runs. */
  until: z.number(),
});
export type ActiveFault = z.infer<typeof activeFaultSchema>;

export const faultRule = fact({
  area: 'fault',
  name: 'rule',
  key: 'name',
  owner: 'launcher',
  payload: activeFaultSchema,
  about: 'The active faults of messages, keyed by the name of the rule. Only on a node that was started with faults.',
});

export const injectFault = command({
  area: 'node',
  name: 'injectFault',
  key: 'name',
  server: 'launcher',
  fenced: false,
  request: faultRuleSchema,
  result: z.object({ fault: activeFaultSchema }),
  about: 'Apply the rule to messages from now on; the key is its name. Only on a node that was started with faults.',
});

export const clearFault = command({
  area: 'node',
  name: 'clearFault',
  key: 'name',
  server: 'launcher',
  fenced: false,
  request: z.object({}),
  result: z.object({ cleared: z.array(z.string()) }),
  about:
    'End the rule named by the key; without a key, end all rules and pauses. Only on a node that was started with faults.',
});

export const serviceFaultSchema = z.discriminatedUnion('what', [
  /** It is paused, and continues when the time is over, when all faults are cleared or when the launcher ends. */
  z.strictObject({ what: z.literal('pause'), forMs: z.number().positive().max(LONGEST_PAUSE_MS) }),
  /** It is killed and can publish nothing more; the launcher starts it again. */
  z.strictObject({ what: z.literal('kill') }),
  /** It is shut down gracefully; the launcher starts it again. */
  z.strictObject({ what: z.literal('restart') }),
]);
export type ServiceFault = z.infer<typeof serviceFaultSchema>;

export const disturbService = command({
  area: 'node',
  name: 'disturb',
  key: 'name',
  server: 'launcher',
  fenced: false,
  request: serviceFaultSchema,
  result: z.object({ instances: z.array(z.string()) }),
  about:
    'Pause, kill or restart the processes of the service, or the single process, named by the key. Only on a node that was started with faults.',
});

export const faulted = event({
  area: 'fault',
  name: 'faulted',
  key: 'instance',
  publisher: 'each',
  payload: z.object({
    rule: z.string(),
    what: z.enum(['drop', 'delay', 'duplicate', 'reorder']),
    /** Relative to `kubus.<node>.`. */
    subject: z.string(),
    /** `<source>.<epoch>.<seq>` of the message; missing where the message does not contain it. */
    message: z.string().optional(),
    /** Whether the publisher of this event sends or receives the message. */
    side: z.enum(['sender', 'reader']),
    /** For a delay: its duration in milliseconds. */
    ms: z.number().optional(),
    /** For a duplicate: how many additional times. */
    times: z.int().optional(),
  }),
  about: 'A rule was applied to a message that this instance sent or received.',
});

export const serviceFaulted = event({
  area: 'fault',
  name: 'service',
  key: 'instance',
  publisher: 'launcher',
  payload: z.object({
    what: z.enum(['pause', 'continue', 'kill', 'restart']),
    pid: z.int().positive(),
    /** For a pause: its duration in milliseconds. */
    forMs: z.number().optional(),
  }),
  about: 'A process was paused, continued, killed or restarted on purpose; the key is its name.',
});
