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
  about: 'Whether the pod network is ready, and which configuration file defines it.',
});

export const pluginRunSchema = z.object({
  /** `ADD`, `DEL`, `CHECK`, ... */
  command: z.string(),
  containerId: z.string(),
  ifname: z.string(),
  network: z.string(),
  plugin: z.string(),
  /** `end`. Earlier versions also published the `begin`, which had nothing of the following fields. */
  what: z.enum(['begin', 'end']),
  /** How long the plugin ran, in milliseconds. */
  durationMs: z.number().nonnegative().optional(),
  /** Addresses of the result of an ADD. */
  ips: z.array(z.string()).optional(),
  /** CNI error code and text of a failed run. */
  error: z.object({ code: z.int(), message: z.string() }).optional(),
});
export type PluginRun = z.infer<typeof pluginRunSchema>;

export const pluginRun = event({
  area: 'network',
  name: 'plugin',
  key: 'pod',
  publisher: 'cni-bridge',
  payload: pluginRunSchema,
  about: 'A CNI plugin has run for a pod, or for its network.',
});

/** A pod's interface as configured by the plugin chain, in the terms of a CNI result of version 1.1. */
export const podAttachmentSchema = z.object({
  /** The runtime's id of the sandbox. */
  containerId: z.string(),
  /** The interface in the pod, such as `eth0`. */
  ifname: z.string(),
  network: z.string(),
  /** The plugins of the chain, the first one first. */
  plugins: z.array(z.string()),
  /** When the runtime requested it, as RFC 3339. */
  since: z.string(),
  interfaces: z.array(
    z.object({
      name: z.string(),
      mac: z.string().optional(),
      mtu: z.int().optional(),
      /** The network namespace that contains it; missing or empty for an interface of the node. */
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
  /** The error of the plugins' last CHECK, or why it cannot be removed. */
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
  about: 'The network of a pod: its interfaces, addresses, routes and DNS, and the plugins that configured it.',
});
