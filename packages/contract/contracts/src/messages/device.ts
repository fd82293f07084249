import * as z from 'zod';
import { command, fact } from '../declare.ts';
import { podRefSchema } from './common.ts';

/** The NUMA nodes of a device; missing: no affinity. */
const topologySchema = z.object({ numaNodes: z.array(z.int().nonnegative()).min(1) });

const deviceSchema = z.object({
  /** The plugin's own id of the device. */
  id: z.string(),
  healthy: z.boolean(),
  topology: topologySchema.optional(),
});

export const deviceResourceSchema = z.object({
  /** The resource's name, such as `example.com/gpu`. */
  resource: z.string(),
  /** The devices as the plugin last reported them. Empty for a plugin that has been disconnected for a long time. */
  devices: z.array(deviceSchema),
  /** The plugin is not connected: none of the devices can be allocated. */
  gone: z.boolean(),
});
export type DeviceResource = z.infer<typeof deviceResourceSchema>;

/** How many of a resource's devices can be allocated to pods. */
export function allocatableDevices({ devices, gone }: Pick<DeviceResource, 'devices' | 'gone'>): number {
  return gone ? 0 : devices.filter(({ healthy }) => healthy).length;
}

export const deviceResource = fact({
  area: 'device',
  name: 'resource',
  key: 'name',
  owner: 'node-agent',
  payload: deviceResourceSchema,
  about: 'The devices of one resource, as reported by its device plugin, keyed by the name of the resource.',
});

const allocatedResourceSchema = z.object({
  resource: z.string(),
  devices: z.array(deviceSchema.omit({ healthy: true })),
});

export const deviceAllocationSchema = z.object({
  ref: podRefSchema,
  /** The containers that have devices. */
  containers: z.array(z.object({ name: z.string(), resources: z.array(allocatedResourceSchema) })),
});
export type DeviceAllocation = z.infer<typeof deviceAllocationSchema>;

export const deviceAllocation = fact({
  area: 'device',
  name: 'allocation',
  key: 'pod',
  owner: 'node-agent',
  payload: deviceAllocationSchema,
  about: 'The devices that are allocated to the containers of a pod. Removed when they are free again.',
});

export const cpuPoolSchema = z.object({
  /** The numbers of the CPUs, as a list such as `0-3,8`. */
  cpus: z.string(),
});
export type CpuPool = z.infer<typeof cpuPoolSchema>;

export const cpuPool = fact({
  area: 'device',
  name: 'cpuPool',
  key: 'name',
  owner: 'node-agent',
  payload: cpuPoolSchema,
  about:
    'The CPUs that no container has for itself, keyed by the node’s name: all containers without CPUs of their own share them. There is none while the node gives no container CPUs of its own (cpuManagerPolicy none).',
});

/** What device plugins set on a container that uses their devices. */
export const containerDevicesSchema = z.object({
  envs: z.record(z.string(), z.string()),
  mounts: z.array(z.object({ containerPath: z.string(), hostPath: z.string(), readOnly: z.boolean() })),
  devices: z.array(z.object({ containerPath: z.string(), hostPath: z.string(), permissions: z.string() })),
  annotations: z.record(z.string(), z.string()),
  /** Fully qualified names of the Container Device Interface. */
  cdiDevices: z.array(z.string()),
  /** The CPUs that the container has for itself, and the NUMA nodes of its memory: lists such as `0-3,8`. */
  cpuset: z.object({ cpus: z.string().optional(), mems: z.string().optional() }).optional(),
});
export type ContainerDevices = z.infer<typeof containerDevicesSchema>;

/**
 * How the hints for a container or a pod were merged that the topology manager refused: in the context `merge` of the failed
 * {@link allocateDevices}, as JSON.
 */
export const mergedHintsSchema = z.object({
  policy: z.string(),
  /** Missing: of the pod as a whole. */
  container: z.string().optional(),
  resources: z.array(
    z.object({
      /** `cpu`, `memory`, `hugepages-2Mi` or a resource of devices. */
      resource: z.string(),
      /** Sets of NUMA nodes that have it; none: it cannot be had. Missing: it may come from any node. */
      hints: z.array(z.object({ nodes: z.string(), preferred: z.boolean() })).optional(),
      /** How many more hints there are. */
      leftOut: z.int().positive().optional(),
    }),
  ),
  /** The NUMA nodes that suit best; missing: any. */
  nodes: z.string().optional(),
  /** Each resource comes from these nodes, and could not come from fewer. */
  preferred: z.boolean(),
});
export type MergedHints = z.infer<typeof mergedHintsSchema>;

export const allocateDevices = command({
  area: 'device',
  name: 'allocate',
  key: 'pod',
  server: 'node-agent',
  fenced: false,
  request: z.object({
    ref: podRefSchema,
    /** The pod's containers that request resources which a device plugin may serve, in the order in which they start. */
    requests: z.array(
      z.object({
        name: z.string(),
        /** The container ends before the next one starts. */
        ends: z.boolean(),
        /** Amounts by resource. */
        counts: z.record(z.string(), z.int().positive()),
      }),
    ),
    /**
     * What the pod's containers want for themselves, in the order in which they start; missing: nothing, or the node gives nothing of it.
     */
    exclusive: z
      .array(
        z.object({
          name: z.string(),
          /** An `init` container ends before the next one starts; a `sidecar` is an init container that goes on. */
          kind: z.enum(['init', 'sidecar', 'app']),
          cpus: z.int().nonnegative(),
          /** Bytes by resource (`memory`, `hugepages-2Mi`); missing: it has no memory of its own. */
          memory: z.record(z.string(), z.number().nonnegative()).optional(),
        }),
      )
      .optional(),
    /** What the pod wants as a whole, which its containers divide; missing: they want all. */
    whole: z
      .object({
        /** 0: no whole number of them. */
        cpus: z.int().nonnegative(),
        /** Bytes by resource. */
        memory: z.record(z.string(), z.number().positive()),
      })
      .optional(),
    /** This container is about to start: plugins that require it get a PreStartContainer call. */
    starting: z.string().optional(),
    /** The runtime has lost this container, and it does not start again: what it was given is checked as before a start, and nothing is allocated. */
    lost: z.string().optional(),
  }),
  result: z.object({
    /** By container name: the containers that have devices, CPUs or memory of their own; where one is starting, only that one. */
    containers: z.record(z.string(), containerDevicesSchema),
  }),
  about:
    'Allocate devices, and CPUs and memory of their own, to the containers of a pod, or return those that are already allocated. Resources that no device plugin has ever reported are ignored. Fails with the reason UnexpectedAdmissionError, TopologyAffinityError, SMTAlignmentError or EmptyPodSharedPoolError when the node cannot admit the pod, and with CreateContainerConfigError when a plugin prevents a container from starting.',
});
