import * as z from 'zod';
import { envFromSourceSchema, envVarSchema } from './environment.ts';
import { apiObject, flag, int, ints, text, texts } from './fields.ts';
import { lifecycleSchema, probeSchema } from './probe.ts';
import { containerResizePolicySchema, resourceRequirementsSchema } from './resources.ts';
import { securityContextSchema } from './security.ts';

export const containerPortSchema = apiObject({
  name: text,
  containerPort: z.int(),
  hostPort: int,
  hostIP: text,
  /** `TCP`, `UDP` or `SCTP`. */
  protocol: text,
});
export type ContainerPort = z.infer<typeof containerPortSchema>;

export const volumeMountSchema = apiObject({
  name: z.string(),
  mountPath: z.string(),
  subPath: text,
  /** As subPath, with `$(NAME)` references to the container's environment. */
  subPathExpr: text,
  readOnly: flag,
  /** `Disabled`, `IfPossible` or `Enabled`. */
  recursiveReadOnly: text,
  /** `None`, `HostToContainer` or `Bidirectional`. */
  mountPropagation: text,
});
export type VolumeMount = z.infer<typeof volumeMountSchema>;

export const volumeDeviceSchema = apiObject({ name: z.string(), devicePath: z.string() });
export type VolumeDevice = z.infer<typeof volumeDeviceSchema>;

/** What to do when the container exits, by its exit code; the first rule that matches wins (KEP-5307). */
export const containerRestartRuleSchema = apiObject({
  /** `Restart` or `RestartAllContainers`. */
  action: z.string(),
  exitCodes: apiObject({ operator: z.string(), values: ints }).optional(),
});
export type ContainerRestartRule = z.infer<typeof containerRestartRuleSchema>;

const containerShape = {
  name: z.string(),
  image: text,
  command: texts,
  args: texts,
  workingDir: text,
  ports: z.array(containerPortSchema).optional(),
  envFrom: z.array(envFromSourceSchema).optional(),
  env: z.array(envVarSchema).optional(),
  resources: resourceRequirementsSchema.optional(),
  resizePolicy: z.array(containerResizePolicySchema).optional(),
  /** For this container only. `Always` on an init container makes it a sidecar. */
  restartPolicy: text,
  restartPolicyRules: z.array(containerRestartRuleSchema).optional(),
  volumeMounts: z.array(volumeMountSchema).optional(),
  volumeDevices: z.array(volumeDeviceSchema).optional(),
  livenessProbe: probeSchema.optional(),
  readinessProbe: probeSchema.optional(),
  startupProbe: probeSchema.optional(),
  lifecycle: lifecycleSchema.optional(),
  terminationMessagePath: text,
  /** `File` or `FallbackToLogsOnError`. */
  terminationMessagePolicy: text,
  /** `Always`, `IfNotPresent` or `Never`. */
  imagePullPolicy: text,
  securityContext: securityContextSchema.optional(),
  stdin: flag,
  stdinOnce: flag,
  tty: flag,
};

/** A regular or an init container. */
export const containerSchema = apiObject(containerShape);
export type Container = z.infer<typeof containerSchema>;

/** A container that was added to a running pod for debugging. */
export const ephemeralContainerSchema = apiObject({ ...containerShape, targetContainerName: text });
export type EphemeralContainer = z.infer<typeof ephemeralContainerSchema>;
