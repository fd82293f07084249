import * as z from 'zod';
import { command, event, fact, serviceNames } from '../declare.ts';
import { nodeEventSchema } from './common.ts';

export const restartService = command({
  area: 'node',
  name: 'restart',
  key: 'name',
  server: 'launcher',
  fenced: false,
  request: z.object({}),
  result: z.object({ instances: z.array(z.string()) }),
  about: 'End every process of the service named by the key; the launcher starts them again at once.',
});

export const runElsewhere = command({
  area: 'node',
  name: 'elsewhere',
  key: 'name',
  server: 'launcher',
  fenced: false,
  request: z.object({
    /** True: it runs outside the launcher from now on. False: the launcher runs it again. */
    elsewhere: z.boolean(),
  }),
  result: z.object({ instances: z.array(z.string()) }),
  about:
    'Stop running the service, or the single instance, named by the key, because it runs outside the launcher: answered when its processes have ended and its slots are free. Lasts until the launcher is restarted.',
});

/** The services that may have several instances, which share the node's pods. */
export const sharedServices = ['pod-workers', 'prober'] as const;
export type SharedService = (typeof sharedServices)[number];

export const serviceShareSchema = z.object({
  /** The running instances, in order; never empty. */
  instances: z.array(z.string()).min(1),
  /** Greater than in every earlier share. */
  term: z.int().nonnegative(),
});
export type ServiceShare = z.infer<typeof serviceShareSchema>;

export const serviceShare = fact({
  area: 'node',
  name: 'share',
  key: 'name',
  owner: 'launcher',
  payload: serviceShareSchema,
  about: 'Which instances of the service named by the key share the pods; a pod’s UID decides which instance owns it.',
});

export const scaleService = command({
  area: 'node',
  name: 'scale',
  key: 'name',
  server: 'launcher',
  fenced: false,
  request: z.object({ count: z.int().positive() }),
  result: z.object({ instances: z.array(z.string()) }),
  about:
    'Change the number of instances of the service named by the key. Surplus instances end first; then the remaining ones own their pods.',
});

export const nodeLogLevel = fact({
  area: 'node',
  name: 'logLevel',
  key: 'name',
  owner: 'node-api',
  payload: z.object({
    /** The verbosity as in klog: a greater value logs more. */
    verbosity: z.int().nonnegative(),
  }),
  about: 'The log level of every process of the node, where it was changed from the configured one.',
});

/** The only key of {@link nodeLogLevel}. */
export const NODE_LOG_LEVEL = 'verbosity';

/** Processes that a node keeps running in addition to one for each service; `services` is one process for all of them. */
export const supportProcesses = [
  'nats-server',
  'nats-relay',
  'api-relay',
  'hub-relay',
  'containerd',
  'services',
] as const;

export const processEvent = event({
  area: 'node',
  name: 'process',
  key: 'instance',
  publisher: 'launcher',
  payload: z.object({
    service: z.enum([...serviceNames, ...supportProcesses]),
    what: z.enum(['started', 'ended']),
    pid: z.int().positive(),
    /** Exit code or signal name of an ended process. */
    status: z.string().optional(),
  }),
  about: 'The launcher started a process, or one of its processes ended.',
});

export const stuckService = fact({
  area: 'node',
  name: 'stuck',
  key: 'instance',
  owner: 'launcher',
  payload: z.object({
    /** How often since the launcher's start. */
    count: z.int().positive(),
    /** RFC 3339: the last time. */
    at: z.string(),
    reason: z.string(),
  }),
  about: 'The launcher has ended the process of an instance that no longer answered, and started it again.',
});

export const launcherNodeEvent = event({
  area: 'node',
  name: 'nodeRecorded',
  key: 'name',
  publisher: 'launcher',
  payload: nodeEventSchema,
  about: 'A Kubernetes event about the node: a service that no longer answered was ended.',
});
