import * as z from 'zod';
import { event, fact, serviceNames } from '../declare.ts';

/** What a running instance of a service says about itself. */
export const serviceInstanceSchema = z.object({
  service: z.enum(serviceNames),
  /** Epoch of this life; commands that an earlier life accepted are lost. */
  epoch: z.number().int().nonnegative(),
  version: z.string(),
  pid: z.number().int().positive(),
  startedAt: z.string(),
  /** Where health, readiness and metrics are served, such as `127.0.0.1:41233`. */
  http: z.string().optional(),
});
export type ServiceInstance = z.infer<typeof serviceInstanceSchema>;

export const serviceInstance = fact({
  area: 'service',
  name: 'instance',
  key: 'instance',
  owner: 'each',
  payload: serviceInstanceSchema,
  about: 'An instance of a service runs. Published on each connection; peers take up waiting work when it appears.',
});

export const refusedMessageSchema = z.object({
  subject: z.string(),
  headers: z.record(z.string(), z.string()),
  error: z.string(),
  /** The first 4096 characters. */
  payload: z.string(),
  truncated: z.boolean(),
});
export type RefusedMessage = z.infer<typeof refusedMessageSchema>;

export const refusedMessage = event({
  area: 'service',
  name: 'refused',
  key: 'instance',
  publisher: 'each',
  payload: refusedMessageSchema,
  about: 'A message did not validate and was not acted upon; this keeps it where a person can look at it.',
});

export const journalPartSchema = z.object({
  /** Running number of the part within the life of the instance, from 0; a gap shows that a part is lost. */
  part: z.number().int().nonnegative(),
  /** What came in through the instance's ports and what it did with them, in order; see docs/replay.md. */
  items: z.array(z.union([z.number(), z.array(z.unknown()).min(1)])),
});
export type JournalPart = z.infer<typeof journalPartSchema>;

export const instanceJournal = event({
  area: 'service',
  name: 'journal',
  key: 'instance',
  publisher: 'each',
  payload: journalPartSchema,
  about: 'A part of what an instance got from outside, so that its life can be replayed; only where it is asked for.',
});
