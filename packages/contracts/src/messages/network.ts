import * as z from 'zod';
import { event, fact } from '../declare.ts';
import { podRefSchema } from './common.ts';

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

/** A pod's interface with what the plugin chain has made of it, in the terms of a CNI result of version 1.1. */
export const podAttachmentSchema = z.object({
  /** The runtime's id of the sandbox. */
  containerId: z.string(),
  /** The interface in the pod, such as `eth0`. */
  ifname: z.string(),
  network: z.string(),
  /** The plugins of the chain, the first one first. */
  plugins: z.array(z.string()),
  /** RFC 3339: when the runtime asked for it. */
  since: z.string(),
  interfaces: z.array(
    z.object({
      name: z.string(),
      mac: z.string().optional(),
      mtu: z.int().optional(),
      /** The network namespace that it is in; missing or empty for one of the node. */
      sandbox: z.string().optional(),
    }),
  ),
  ips: z.array(
    z.object({
      /** With prefix length. */
      address: z.string(),
      gateway: z.string().optional(),
      /** Index in `interfaces`. */
      interface: z.int().nonnegative().optional(),
    }),
  ),
  routes: z.array(z.object({ dst: z.string(), gw: z.string().optional() })),
  dns: z.object({
    nameservers: z.array(z.string()).optional(),
    domain: z.string().optional(),
    search: z.array(z.string()).optional(),
    options: z.array(z.string()).optional(),
  }),
  /** What the plugins' last CHECK found wrong, or why it can not be removed. */
  problem: z.string().optional(),
});
export type PodAttachment = z.infer<typeof podAttachmentSchema>;

export const podNetworkSchema = z.object({
  ref: podRefSchema,
  /** More than one while a sandbox is replaced. */
  attachments: z.array(podAttachmentSchema),
});
export type PodNetwork = z.infer<typeof podNetworkSchema>;

export const podNetwork = fact({
  area: 'network',
  name: 'pod',
  key: 'pod',
  owner: 'cni-bridge',
  payload: podNetworkSchema,
  about: 'The network that a pod has: its interfaces, addresses, routes and DNS, and the plugins that made them.',
});
