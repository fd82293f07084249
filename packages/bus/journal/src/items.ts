import * as z from 'zod';

const number = z.number().int().nonnegative();

const wireSchema = z.object({
  subject: z.string(),
  headers: z.record(z.string(), z.string()),
  data: z.string(),
  reply: z.string().optional(),
});

/**
 * One entry of a journal: an input through a port, or an action on one. Listeners, timers and calls are numbered
 * from 1 in the order in which they were created; 0 is the code that started the instance.
 */
export const itemSchema = z.union([
  /** The clock was read: microseconds since the previous reading; for the first one since the Unix epoch. */
  z.number().int(),
  /** Another value was read from outside, such as a random one. */
  z.tuple([z.literal('value'), z.unknown()]),
  /** A listener received a message: its id, or all of it when it has none; and where answers to it are sent. */
  z.tuple([z.literal('message'), number, z.union([z.string(), wireSchema]), z.string().optional()]),
  /** Another input: a timer has fired, a call has its outcome, ... */
  z.tuple([z.literal('in'), number, z.unknown()]),
  /** A message was sent, by its sequence number. */
  z.tuple([z.literal('out'), number]),
  /** Another action on a port: the port, and the argument. */
  z.tuple([z.literal('do'), z.string(), z.unknown()]),
  /** The last action was refused at once, with this message. */
  z.tuple([z.literal('threw'), z.string()]),
  /** A message that no input led to, which a replay cannot produce; its sequence number. */
  z.tuple([z.literal('stray'), number]),
]);
export type Item = z.infer<typeof itemSchema>;
