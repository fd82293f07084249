import * as z from 'zod';
import { command, fact } from '../declare.ts';
import { podRefSchema } from './common.ts';

/** Where a device is; missing: that does not matter. */
const topologySchema = z.object({ numaNodes: z.array(z.int().nonnegative()).min(1) });

const deviceSchema = z.object({
  /** The plugin's own. */
  id: z.string(),
  healthy: z.boolean(),
  topology: topologySchema.optional(),
});

export const deviceResourceSchema = z.object({
  /** The resource's name, such as `example.com/gpu`. */
  resource: z.string(),
  /** What the plugin told of last. Empty for a plugin that has been gone for long. */
  devices: z.array(deviceSchema),
  /** The plugin is not there: none of the devices can be given to a pod. */
  gone: z.boolean(),
});
export type DeviceResource = z.infer<typeof deviceResourceSchema>;

/** How many of a resource's devices pods may have. */
export function allocatableDevices({ devices, gone }: Pick<DeviceResource, 'devices' | 'gone'>): number {
  return gone ? 0 : devices.filter(({ healthy }) => healthy).length;
}

export const deviceResource = fact({
  area: 'device',
  name: 'resource',
  key: 'name',
  owner: 'node-agent',
  payload: deviceResourceSchema,
  about: 'The devices of one resource, as its device plugin tells of them, keyed by the name of the resource.',
});

const allocatedResourceSchema = z.object({
  resource: z.string(),
  devices: z.array(deviceSchema.omit({ healthy: true })),
});

export const deviceAllocationSchema = z.object({
  ref: podRefSchema,
  /** Those that have any device. */
  containers: z.array(z.object({ name: z.string(), resources: z.array(allocatedResourceSchema) })),
});
export type DeviceAllocation = z.infer<typeof deviceAllocationSchema>;

export const deviceAllocation = fact({
  area: 'device',
  name: 'allocation',
  key: 'pod',
  owner: 'node-agent',
  payload: deviceAllocationSchema,
  about: 'The devices that the containers of a pod have been given. Gone when they are free again.',
});

/** What device plugins want a container to get with its devices. */
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
    /** The pod's containers that ask for resources which a device plugin may have, in the order of their starts. */
    requests: z.array(
      z.object({
        name: z.string(),
        /** It ends before the next one starts. */
        ends: z.boolean(),
        /** Amounts by resource. */
        counts: z.record(z.string(), z.int().positive()),
      }),
    ),
    /** This container is about to start: plugins that want to hear of that do. */
    starting: z.string().optional(),
  }),
  result: z.object({
    /** By the container’s name: those that have devices; where one starts, that one alone. */
    containers: z.record(z.string(), containerDevicesSchema),
  }),
  about:
    'Give the containers of a pod their devices, or tell what they have been given. Resources that no device plugin has ever had do not count. Fails with the reason UnexpectedAdmissionError or TopologyAffinityError when the node can not take the pod, with CreateContainerConfigError when a plugin keeps a container from starting.',
});
