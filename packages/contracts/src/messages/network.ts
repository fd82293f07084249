import * as z from 'zod';
import { event, fact } from '../declare.ts';

export const networkConditionSchema = z.object({
  ready: z.boolean(),
  reason: z.string().optional(),
  message: z.string().optional(),
  /** Name of the network and the file that defines it. */
  network: z.string().optional(),
  file: z.string().optional(),
  /** Configuration files that were skipped, and why. */
  broken: z.array(z.object({ file: z.string(), error: z.string() })),
});
export type NetworkCondition = z.infer<typeof networkConditionSchema>;

export const networkCondition = fact({
  area: 'network',
  name: 'condition',
  key: 'name',
  owner: 'cni-bridge',
  payload: networkConditionSchema,
  about: 'Whether pods can get a network, and from which configuration file.',
});

export const pluginRunSchema = z.object({
  /** `ADD`, `DEL`, `CHECK`, ... */
  command: z.string(),
  containerId: z.string(),
  ifname: z.string(),
  network: z.string(),
  plugin: z.string(),
  what: z.enum(['begin', 'end']),
  /** Milliseconds; at the end. */
  durationMs: z.number().nonnegative().optional(),
  /** Addresses of the result; at the end of an ADD. */
  ips: z.array(z.string()).optional(),
  /** CNI error code and text; at a failed end. */
  error: z.object({ code: z.int(), message: z.string() }).optional(),
});
export type PluginRun = z.infer<typeof pluginRunSchema>;

export const pluginRun = event({
  area: 'network',
  name: 'plugin',
  key: 'pod',
  publisher: 'cni-bridge',
  payload: pluginRunSchema,
  about: 'A CNI plugin was started for a pod, or ended.',
});
