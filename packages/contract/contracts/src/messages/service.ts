import * as z from 'zod';
import { event, fact, serviceNames } from '../declare.ts';

/** What a running instance of a service publishes about itself. */
export const serviceInstanceSchema = z.object({
  service: z.enum(serviceNames),
  /** The epoch of this start; commands that were accepted in an earlier epoch are lost. */
  epoch: z.number().int().nonnegative(),
  version: z.string(),
  pid: z.number().int().positive(),
  startedAt: z.string(),
  /** Where health, readiness and metrics are served, such as `127.0.0.1:41233`. */
  http: z.string().optional(),
  /**
   * Types of facts, such as `runtime.fact.pod/1`, on whose changes the instance acts by itself, where one of the version before waits
   * for another message about them.
   */
  follows: z.array(z.string()).optional(),
  /** The public key for which texts are sealed that this start of the instance alone may read: see SealKey of @kubus/service-kit. */
  sealKey: z.string().max(64).optional(),
});
export type ServiceInstance = z.infer<typeof serviceInstanceSchema>;

export const serviceInstance = fact({
  area: 'service',
  name: 'instance',
  key: 'instance',
  owner: 'each',
  payload: serviceInstanceSchema,
  about:
    'An instance of a service is running. Published on each connection; peers then continue work that waited for it.',
});

export const refusedMessageSchema = z.object({
  subject: z.string(),
  headers: z.record(z.string(), z.string()),
  error: z.string(),
  /** The first 4096 characters. */
  payload: z.string(),
  truncated: z.boolean(),
  /** How many messages of the subject were refused since the last report, this one included; missing: only this one. */
  count: z.int().positive().optional(),
});
export type RefusedMessage = z.infer<typeof refusedMessageSchema>;

export const refusedMessage = event({
  area: 'service',
  name: 'refused',
  key: 'instance',
  publisher: 'each',
  payload: refusedMessageSchema,
  about: 'A message was invalid and therefore ignored; this event keeps it for inspection.',
});

export const journalPartSchema = z.object({
  /** Sequence number of the part within the epoch of the instance, from 0; a gap shows that a part is lost. */
  part: z.number().int().nonnegative(),
  /** What the instance received through its ports and what it did with it, in order; see docs/replay.md. */
  items: z.array(z.union([z.number(), z.array(z.unknown()).min(1)])),
});
export type JournalPart = z.infer<typeof journalPartSchema>;

export const instanceJournal = event({
  area: 'service',
  name: 'journal',
  key: 'instance',
  publisher: 'each',
  payload: journalPartSchema,
  about:
    'A part of an instance’s journal: its input from outside, so that its run can be replayed. Published only where it is enabled.',
});
