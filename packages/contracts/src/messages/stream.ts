import * as z from 'zod';
import { event } from '../declare.ts';
import { podRefSchema } from './common.ts';

export const streamSchema = z.object({
  ref: podRefSchema,
  /** Empty where the pod as a whole is meant. */
  container: z.string(),
  /** What is read or connected; the bytes themselves never pass the bus. */
  kind: z.enum(['logs', 'exec', 'attach', 'portForward']),
  what: z.enum(['began', 'ended']),
  /** The same for both ends of one stream. */
  stream: z.string(),
  /** Who asked, as authentication named them. */
  user: z.string(),
  /** Of `ended`: bytes that went to who asked, and that came from there. */
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
    'Somebody began or ended a connection with a container through the node’s API: its log, a command, its terminal, its ports.',
});
