import * as z from 'zod';
import { command, event, fact, serviceNames } from '../declare.ts';

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
    /** True: somebody else is to run it from now on. False: the launcher runs it again. */
    elsewhere: z.boolean(),
  }),
  result: z.object({ instances: z.array(z.string()) }),
  about:
    'Leave the service, or the one instance, named by the key to somebody else: answered when its processes have ended and its slots are free. Forgotten when the launcher starts anew.',
});

/** The services of which there may be several instances, which share the node's pods. */
export const sharedServices = ['pod-workers', 'prober'] as const;
export type SharedService = (typeof sharedServices)[number];

export const serviceShareSchema = z.object({
  /** Those that live, in order; never none. */
  instances: z.array(z.string()).min(1),
  /** Greater than in every share before. */
  term: z.int().nonnegative(),
});
export type ServiceShare = z.infer<typeof serviceShareSchema>;

export const serviceShare = fact({
  area: 'node',
  name: 'share',
  key: 'name',
  owner: 'launcher',
  payload: serviceShareSchema,
  about: 'Which instances of the service named by the key share the pods: each has those whose UID falls to it.',
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
    'Run that many instances of the service named by the key. Those that are too many end first, then others have their pods.',
});

export const nodeLogLevel = fact({
  area: 'node',
  name: 'logLevel',
  key: 'name',
  owner: 'node-api',
  payload: z.object({
    /** As klog counts it: the more, the more is said. */
    verbosity: z.int().nonnegative(),
  }),
  about:
    'How much every process of the node writes to its log, where somebody has asked for another level than the configured one.',
});

/** The one key of {@link nodeLogLevel}. */
export const NODE_LOG_LEVEL = 'verbosity';

/** Processes that a node keeps running besides one for each service; `services` are all of them in one. */
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
