import * as z from 'zod';
import { apiObject, flag, int, ints, quantity, resourceList, text, texts, time } from './fields.ts';
import { resourceRequirementsSchema } from './resources.ts';

export const podConditionSchema = apiObject({
  type: z.string(),
  /** `True`, `False` or `Unknown`. */
  status: z.string(),
  observedGeneration: int,
  lastProbeTime: time,
  lastTransitionTime: time,
  reason: text,
  message: text,
});
export type PodCondition = z.infer<typeof podConditionSchema>;

export const containerStateTerminatedSchema = apiObject({
  exitCode: z.int(),
  signal: int,
  reason: text,
  message: text,
  startedAt: time,
  finishedAt: time,
  containerID: text,
});
export type ContainerStateTerminated = z.infer<typeof containerStateTerminatedSchema>;

/** At most one of its fields is set; none means waiting. */
export const containerStateSchema = apiObject({
  waiting: apiObject({ reason: text, message: text }).optional(),
  running: apiObject({ startedAt: time }).optional(),
  terminated: containerStateTerminatedSchema.optional(),
});
export type ContainerState = z.infer<typeof containerStateSchema>;

export const containerStatusSchema = apiObject({
  name: z.string(),
  state: containerStateSchema.optional(),
  /** The previous run's state. */
  lastState: containerStateSchema.optional(),
  ready: z.boolean(),
  restartCount: z.int(),
  image: z.string(),
  imageID: z.string(),
  /** `<runtime>://<id>`. */
  containerID: text,
  started: flag,
  allocatedResources: resourceList,
  resources: resourceRequirementsSchema.optional(),
  volumeMounts: z
    .array(
      apiObject({
        name: z.string(),
        mountPath: z.string(),
        readOnly: flag,
        recursiveReadOnly: text,
        volumeStatus: apiObject({ image: apiObject({ imageRef: z.string() }).optional() }).optional(),
      }),
    )
    .optional(),
  user: apiObject({
    linux: apiObject({ uid: z.int(), gid: z.int(), supplementalGroups: ints }).optional(),
  }).optional(),
  /** Health of devices and claims that the container uses. */
  allocatedResourcesStatus: z
    .array(
      apiObject({
        name: z.string(),
        resources: z.array(apiObject({ resourceID: z.string(), health: text, message: text })).optional(),
      }),
    )
    .optional(),
  stopSignal: text,
});
export type ContainerStatus = z.infer<typeof containerStatusSchema>;

export const podStatusSchema = apiObject({
  observedGeneration: int,
  /** `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`. */
  phase: text,
  conditions: z.array(podConditionSchema).optional(),
  message: text,
  reason: text,
  nominatedNodeName: text,
  hostIP: text,
  hostIPs: z.array(apiObject({ ip: z.string() })).optional(),
  podIP: text,
  podIPs: z.array(apiObject({ ip: z.string() })).optional(),
  /** When the node first saw the pod. */
  startTime: time,
  initContainerStatuses: z.array(containerStatusSchema).optional(),
  containerStatuses: z.array(containerStatusSchema).optional(),
  ephemeralContainerStatuses: z.array(containerStatusSchema).optional(),
  /** `Guaranteed`, `Burstable` or `BestEffort`. */
  qosClass: text,
  /** State of an in-place resize, as written by older versions; now a condition. */
  resize: text,
  allocatedResources: resourceList,
  resources: resourceRequirementsSchema.optional(),
  resourceClaimStatuses: z.array(apiObject({ name: z.string(), resourceClaimName: text })).optional(),
  extendedResourceClaimStatus: apiObject({
    resourceClaimName: z.string(),
    requestMappings: z.array(
      apiObject({ containerName: z.string(), resourceName: z.string(), requestName: z.string() }),
    ),
  }).optional(),
  nodeAllocatableResourceClaimStatuses: z
    .array(
      apiObject({
        resourceClaimName: z.string(),
        containers: texts,
        resources: z.record(z.string(), quantity),
      }),
    )
    .optional(),
});
export type PodStatus = z.infer<typeof podStatusSchema>;
