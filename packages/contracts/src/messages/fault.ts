import * as z from 'zod';
import { command, event, fact, serviceNames } from '../declare.ts';

/** Longest time that one message can be held back, in milliseconds. */
const LONGEST_DELAY_MS = 60_000;
/** Longest time that a process can be paused, in milliseconds. */
const LONGEST_PAUSE_MS = 600_000;

/** A service, or one of its instances. */
export const instanceName = z
  .string()
  .refine((text) => (serviceNames as readonly string[]).includes(text.replace(/-\d+$/, '')), {
    error: ({ input }) => `"${String(input)}" is no service, nor an instance such as pod-workers-0`,
  });

/**
 * The launcher, the observatory and command line programs give the rules; nothing is done to what they send or hear in their own
 * processes.
 */
const undisturbed = /^(launcher|observatory|cli)(-|$)/;

/** Tokens with `*` for one and `>` for all that follow, as NATS has them; below `kubus.<node>.`. */
const subjectPattern = z
  .string()
  .refine((text) => /^(?:[^\s.*>]+|\*)(?:\.(?:[^\s.*>]+|\*))*(?:\.>)?$|^>$/.test(text), {
    error: ({ input }) =>
      `"${String(input)}" is no subject pattern: tokens with dots between them, * for one token, > at the end for the rest`,
  })
  .refine((text) => !text.startsWith('kubus.'), {
    error: 'is to begin below kubus.<node>., such as runtime.fact.pod.*',
  });

const probability = z.number().gt(0).max(1);
const milliseconds = z.number().nonnegative().max(LONGEST_DELAY_MS);

/** Which messages a rule is about; all that is named must be so. */
export const faultMatchSchema = z
  .strictObject({
    subject: subjectPattern,
    /** UID of the pod that the message is about. */
    pod: z.string().min(1).optional(),
    /** The service or instance that published the message. */
    source: instanceName.optional(),
    /**
     * The service or instance that hears the message. With it the rule acts where that one hears, and everybody else is left
     * alone; without it, where the message is published, and so for everybody and for the record.
     */
    reader: instanceName
      .refine((text) => !undisturbed.test(text), {
        error: 'is not disturbed: the launcher, the observatory and people give the rules',
      })
      .optional(),
    kind: z.enum(['fact', 'cmd', 'event', 'reply']).optional(),
  })
  .refine(({ source, reader }) => source === undefined || reader !== undefined || !undisturbed.test(source), {
    error: 'what the launcher, the observatory and people say is disturbed only where it is heard: name a reader',
    path: ['source'],
  });

/** What happens to a message. */
export const faultActionSchema = z.discriminatedUnion('kind', [
  /** It is lost. Its sender does not notice. */
  z.strictObject({ kind: z.literal('drop') }),
  /** It is held back, together with what follows it on the same subject: the order stays, as on a slow connection. */
  z.strictObject({
    kind: z.literal('delay'),
    ms: milliseconds,
    /** Up to so many milliseconds more, at random. */
    jitterMs: milliseconds.optional(),
  }),
  /** It comes so many times more. */
  z.strictObject({ kind: z.literal('duplicate'), times: z.int().min(1).max(100).optional() }),
  /** It waits until so many are together, or until they have waited for long; then they go on in another order. */
  z.strictObject({
    kind: z.literal('reorder'),
    window: z.int().min(2).max(1000),
    /** 1000 when left out. */
    holdMs: milliseconds.positive().optional(),
  }),
]);
export type FaultAction = z.infer<typeof faultActionSchema>;

/** Which of the messages; each process counts those that match where the rule acts. All that is named must be so. */
export const faultTimesSchema = z.strictObject({
  probability: probability.optional(),
  /** Every so many-th. */
  everyNth: z.int().min(1).optional(),
  /** Just these, counted from 1. */
  nth: z.array(z.int().min(1)).min(1).optional(),
  /** For so many milliseconds from its beginning. Left out: until it is cleared, or the launcher ends. */
  forMs: z.number().positive().optional(),
});

/** What is to happen to which messages. */
export const faultRuleSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, {
    error: ({ input }) => `"${String(input)}" is no name: lower case letters, digits and - in between, 63 at most`,
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
  /** When it ends by itself, where that was said. */
  ends: z.number().optional(),
  /** Until when it holds if nobody says more: the launcher says so again and again, and a dead one does not. */
  until: z.number(),
});
export type ActiveFault = z.infer<typeof activeFaultSchema>;

export const faultRule = fact({
  area: 'fault',
  name: 'rule',
  key: 'name',
  owner: 'launcher',
  payload: activeFaultSchema,
  about:
    'What is done to messages on purpose now, by the name of the rule. Only on a node that was started with faults.',
});

export const injectFault = command({
  area: 'node',
  name: 'injectFault',
  key: 'name',
  server: 'launcher',
  fenced: false,
  request: faultRuleSchema,
  result: z.object({ fault: activeFaultSchema }),
  about:
    'From now on do to messages what the rule says; the key is its name. Only on a node that was started with faults.',
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
    'End the rule named by the key, or all rules and pauses without one. Only on a node that was started with faults.',
});

export const serviceFaultSchema = z.discriminatedUnion('what', [
  /** It stands still, and goes on when the time is over, when all faults are cleared or when the launcher ends. */
  z.strictObject({ what: z.literal('pause'), forMs: z.number().positive().max(LONGEST_PAUSE_MS) }),
  /** It ends without a chance to say anything; the launcher starts it again. */
  z.strictObject({ what: z.literal('kill') }),
  /** It ends in order; the launcher starts it again. */
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
    'Pause, kill or restart the processes of the service, or the one process, named by the key. Only on a node that was started with faults.',
});

export const faulted = event({
  area: 'fault',
  name: 'faulted',
  key: 'instance',
  publisher: 'each',
  payload: z.object({
    rule: z.string(),
    what: z.enum(['drop', 'delay', 'duplicate', 'reorder']),
    /** Below `kubus.<node>.`. */
    subject: z.string(),
    /** `<source>.<epoch>.<seq>` of the message; missing where it does not say. */
    message: z.string().optional(),
    /** Whether the publisher of this event sends the message or hears it. */
    side: z.enum(['sender', 'reader']),
    /** Of a delay: how long, in milliseconds. */
    ms: z.number().optional(),
    /** Of a duplicate: how many times more. */
    times: z.int().optional(),
  }),
  about: 'A rule was applied to a message that this instance sends or hears.',
});

export const serviceFaulted = event({
  area: 'fault',
  name: 'service',
  key: 'instance',
  publisher: 'launcher',
  payload: z.object({
    what: z.enum(['pause', 'continue', 'kill', 'restart']),
    pid: z.int().positive(),
    /** Of a pause: how long, in milliseconds. */
    forMs: z.number().optional(),
  }),
  about: 'A process was paused, continued, killed or restarted on purpose; the key is its name.',
});
