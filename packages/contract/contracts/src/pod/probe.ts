import * as z from 'zod';
import { apiObject, int, intOrString, text, texts } from './fields.ts';

export const execActionSchema = apiObject({ command: texts });
export type ExecAction = z.infer<typeof execActionSchema>;

export const httpGetActionSchema = apiObject({
  path: text,
  port: intOrString,
  /** Default: the pod's address. */
  host: text,
  /** `HTTP` or `HTTPS`. */
  scheme: text,
  httpHeaders: z.array(apiObject({ name: z.string(), value: z.string() })).optional(),
});
export type HttpGetAction = z.infer<typeof httpGetActionSchema>;

export const tcpSocketActionSchema = apiObject({ port: intOrString, host: text });
export type TcpSocketAction = z.infer<typeof tcpSocketActionSchema>;

export const grpcActionSchema = apiObject({ port: z.int(), service: text });
export type GrpcAction = z.infer<typeof grpcActionSchema>;

/** Exactly one of exec, httpGet, tcpSocket and grpc is set. All times are in seconds. */
export const probeSchema = apiObject({
  exec: execActionSchema.optional(),
  httpGet: httpGetActionSchema.optional(),
  tcpSocket: tcpSocketActionSchema.optional(),
  grpc: grpcActionSchema.optional(),
  initialDelaySeconds: int,
  timeoutSeconds: int,
  periodSeconds: int,
  successThreshold: int,
  failureThreshold: int,
  /** Overrides the pod's grace period when this probe kills the container. Not for readiness probes. */
  terminationGracePeriodSeconds: int,
});
export type Probe = z.infer<typeof probeSchema>;

/** Exactly one of its fields is set. */
export const lifecycleHandlerSchema = apiObject({
  exec: execActionSchema.optional(),
  httpGet: httpGetActionSchema.optional(),
  tcpSocket: tcpSocketActionSchema.optional(),
  sleep: apiObject({ seconds: z.int() }).optional(),
});
export type LifecycleHandler = z.infer<typeof lifecycleHandlerSchema>;

export const lifecycleSchema = apiObject({
  postStart: lifecycleHandlerSchema.optional(),
  preStop: lifecycleHandlerSchema.optional(),
  /** Such as `SIGUSR1`; needs `spec.os.name`. */
  stopSignal: text,
});
export type Lifecycle = z.infer<typeof lifecycleSchema>;
