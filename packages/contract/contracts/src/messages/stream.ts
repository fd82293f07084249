import * as z from 'zod';
import { event } from '../declare.ts';
import { podRefSchema } from './common.ts';

export const streamSchema = z.object({
  ref: podRefSchema,
  /** Empty for the pod as a whole. */
  container: z.string(),
  /** What is read or connected; the data itself is never sent over the bus. */
  kind: z.enum(['logs', 'exec', 'attach', 'portForward']),
  what: z.enum(['began', 'ended']),
  /** The same for both ends of one stream. */
  stream: z.string(),
  /** The user who made the request, as named by authentication. */
  user: z.string(),
  /** For `ended`: bytes sent to the caller, and bytes received from it. */
  bytes: z.int().nonnegative().optional(),
  received: z.int().nonnegative().optional(),
  error: z.string().optional(),
});
export type StreamEvent = z.infer<typeof streamSchema>;

export const streamEvent = event({
  area: 'node',
  name: 'stream',
  key: 'pod',
  publisher: 'node-api',
  payload: streamSchema,
  about:
    'A user opened or closed a connection to a container through the node’s API: its log, a command, its terminal, its ports.',
});
