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

/** What device plugins set on a container that uses their devices. */
export const containerDevicesSchema = z.object({
  envs: z.record(z.string(), z.string()),
  mounts: z.array(z.object({ containerPath: z.string(), hostPath: z.string(), readOnly: z.boolean() })),
  devices: z.array(z.object({ containerPath: z.string(), hostPath: z.string(), permissions: z.string() })),
  annotations: z.record(z.string(), z.string()),
  /** Fully qualified names of the Container Device Interface. */
  cdiDevices: z.array(z.string()),
});
export type ContainerDevices = z.infer<typeof containerDevicesSchema>;

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
    /** This container is about to start: plugins that require it get a PreStartContainer call. */
    starting: z.string().optional(),
  }),
  result: z.object({
    /** By container name: the containers that have devices; where one is starting, only that one. */
    containers: z.record(z.string(), containerDevicesSchema),
  }),
  about:
    'Allocate devices to the containers of a pod, or return those that are already allocated. Resources that no device plugin has ever reported are ignored. Fails with the reason UnexpectedAdmissionError or TopologyAffinityError when the node cannot admit the pod, and with CreateContainerConfigError when a plugin prevents a container from starting.',
});
