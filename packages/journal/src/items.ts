import * as z from 'zod';

const number = z.number().int().nonnegative();

const wireSchema = z.object({
  subject: z.string(),
  headers: z.record(z.string(), z.string()),
  data: z.string(),
  reply: z.string().optional(),
});

/**
 * One entry of a journal: what came in through a port, or what was done with one. Listeners, timers and calls are numbered
 * from 1 in the order in which they were made; 0 is who started the instance.
 */
export const itemSchema = z.union([
  /** The clock was read: microseconds since the reading before; the first one since the Unix epoch. */
  z.number().int(),
  /** Another value was taken from outside, such as a random one. */
  z.tuple([z.literal('value'), z.unknown()]),
  /** A message came to a listener: its id, or all of it when it has none; and where answers to it go. */
  z.tuple([z.literal('message'), number, z.union([z.string(), wireSchema]), z.string().optional()]),
  /** Something else came: a timer is over, a call has its outcome, ... */
  z.tuple([z.literal('in'), number, z.unknown()]),
  /** A message went out, by its running number. */
  z.tuple([z.literal('out'), number]),
  /** Something else was done with a port: which port, and with what. */
  z.tuple([z.literal('do'), z.string(), z.unknown()]),
  /** What was done last was refused at once, with this text. */
  z.tuple([z.literal('threw'), z.string()]),
  /** A message that no input led to, which a replay can not make; its running number. */
  z.tuple([z.literal('stray'), number]),
]);
export type Item = z.infer<typeof itemSchema>;
