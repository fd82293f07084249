import * as z from 'zod';
import { event } from '../declare.ts';
import { podRefSchema } from './common.ts';

export const streamSchema = z.object({
  ref: podRefSchema,
  container: z.string(),
  /** What is read or connected; the bytes themselves never pass the bus. */
  kind: z.enum(['logs']),
  what: z.enum(['began', 'ended']),
  /** The same for both ends of one stream. */
  stream: z.string(),
  /** Who asked, as authentication named them. */
  user: z.string(),
  /** Of `ended`. */
  bytes: z.int().nonnegative().optional(),
  error: z.string().optional(),
});
export type StreamEvent = z.infer<typeof streamSchema>;

export const streamEvent = event({
  area: 'node',
  name: 'stream',
  key: 'pod',
  publisher: 'node-api',
  payload: streamSchema,
  about: 'Somebody began or ended reading the bytes of a container through the node’s API.',
});
