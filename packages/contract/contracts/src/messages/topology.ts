import * as z from 'zod';
import { fact } from '../declare.ts';

/** Numbers as a list such as `0-3,8`. */
const list = z.string();
const place = z.object({ id: z.int().nonnegative(), cpus: list });

export const nodeTopologySchema = z.object({
  machine: z.object({
    /** All CPUs that are online. */
    sockets: z.array(place),
    /** NUMA nodes. */
    nodes: z.array(
      place.extend({
        /** Bytes, including those of huge pages. */
        memory: z.number().nonnegative(),
        /** To each node, in their order. */
        distances: z.array(z.number()),
        hugePages: z.array(z.object({ size: z.number().positive(), count: z.int().nonnegative() })),
      }),
    ),
    /** CPUs that share a core; others are cores of their own. */
    cores: z.array(list),
    /** Last-level caches that a part of a NUMA node shares. */
    caches: z.array(place),
    offline: list,
    /** CPUs on which the kernel puts only processes that ask for it. */
    isolated: list,
  }),
  /** cpuManagerPolicy, memoryManagerPolicy, topologyManagerPolicy and its scope. */
  policies: z.object({ cpu: z.string(), memory: z.string(), topology: z.string(), scope: z.string() }),
  /** CPUs that no container has for itself, by configuration; missing with cpuManagerPolicy `none`. */
  reserved: list.optional(),
  /** CPUs that no container has for itself now, mostly with those that are reserved; missing with cpuManagerPolicy `none`. */
  shared: list.optional(),
  /** Memory of each NUMA node, by resource, that containers can have, in bytes; empty with memoryManagerPolicy `None`. */
  memory: z.array(z.object({ node: z.int(), resource: z.string(), allocatable: z.number(), free: z.number() })),
  /** The containers that have something for themselves. */
  containers: z.array(
    z.object({
      uid: z.string(),
      name: z.string(),
      cpus: list.optional(),
      /** Bytes of each resource, and the NUMA nodes that it is from. */
      memory: z.array(z.object({ nodes: list, resource: z.string(), bytes: z.number() })),
    }),
  ),
});
export type NodeTopology = z.infer<typeof nodeTopologySchema>;

export const nodeTopology = fact({
  area: 'device',
  name: 'topology',
  key: 'name',
  owner: 'node-agent',
  payload: nodeTopologySchema,
  about:
    'The machine’s CPUs, caches, NUMA nodes and huge pages, and which containers have CPUs and memory for themselves, keyed by the node’s name.',
});
