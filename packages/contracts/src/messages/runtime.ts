import { type CriMethods, type UnaryCriMethod, criMethods } from '@kubus/proto/cri';
import * as z from 'zod';
import { type CommandDeclaration, command, event, fact } from '../declare.ts';
import { podRefSchema, stampSchema } from './common.ts';
import { type ProcessToComplete, processToCompleteSchema } from './container-process.ts';

export const runtimeSandboxSchema = z.object({
  id: z.string(),
  attempt: z.int().nonnegative(),
  ready: z.boolean(),
  /** Nanoseconds since the Unix epoch, decimal. */
  createdAt: z.string(),
  /** The first is the primary one; empty for a pod in the host's network. */
  ips: z.array(z.string()),
  /** Whether the sandbox shares the host's network; missing where the runtime does not say (containerd 2.1). */
  hostNetwork: z.boolean().optional(),
  runtimeHandler: z.string(),
});
export type RuntimeSandbox = z.infer<typeof runtimeSandboxSchema>;

export const containerStates = ['created', 'running', 'exited', 'unknown'] as const;

export const runtimeContainerSchema = z.object({
  id: z.string(),
  name: z.string(),
  attempt: z.int().nonnegative(),
  sandboxId: z.string(),
  state: z.enum(containerStates),
  /** Nanoseconds since the Unix epoch, decimal; `0` where it has not happened. */
  createdAt: z.string(),
  startedAt: z.string(),
  finishedAt: z.string(),
  exitCode: z.int(),
  /** The runtime's word, such as `OOMKilled`, `Error` or `Completed`. */
  reason: z.string(),
  message: z.string(),
  /** As the user wrote it. */
  image: z.string(),
  imageRef: z.string(),
  imageId: z.string(),
  /** Absolute path of the log file. */
  logPath: z.string(),
  /** Of an exited one: the absolute path of the file into which it could write how it ended. */
  terminationLog: z.string().optional(),
  /** The `io.kubernetes.*` annotations with which the container was made. */
  annotations: z.record(z.string(), z.string()),
  /** What a running container may use, in the kernel's units, decimal; missing where the runtime does not tell. */
  resources: z
    .object({
      cpuShares: z.string().optional(),
      /** Microseconds. */
      cpuQuota: z.string().optional(),
      cpuPeriod: z.string().optional(),
      memoryLimitInBytes: z.string().optional(),
    })
    .optional(),
});
export type RuntimeContainer = z.infer<typeof runtimeContainerSchema>;

export const runtimePodSchema = z.object({
  ref: podRefSchema,
  /** Taken before the first of the calls from which this was read. */
  stamp: stampSchema,
  /** Newest attempt first. */
  sandboxes: z.array(runtimeSandboxSchema),
  /** Newest attempt first within a name. */
  containers: z.array(runtimeContainerSchema),
});
export type RuntimePod = z.infer<typeof runtimePodSchema>;

export const runtimePod = fact({
  area: 'runtime',
  name: 'pod',
  key: 'pod',
  owner: 'cri-bridge',
  payload: runtimePodSchema,
  about: 'What the container runtime has of a pod. Gone when it has nothing of it any more.',
});

export const runtimeConditionSchema = z.object({
  ready: z.boolean(),
  /** Why not, as the runtime says it, or that it can not be reached. */
  reason: z.string().optional(),
  message: z.string().optional(),
  name: z.string().optional(),
  version: z.string().optional(),
  /** Whether cni-bridge runs the pods’ network, or the runtime itself because it has no handler for that. */
  network: z.enum(['cni-bridge', 'runtime']),
  /** The runtime’s own word on its network; counts only where the runtime runs it. */
  networkReady: z.boolean(),
  networkReason: z.string().optional(),
  networkMessage: z.string().optional(),
  /**
   * Whether the runtime can leave out the groups that an image gives its user (supplementalGroupsPolicy `Strict`); missing
   * where it does not tell (containerd before 2).
   */
  strictSupplementalGroups: z.boolean().optional(),
  /**
   * What pods of a runtime handler can have, by the name that a RuntimeClass gives the handler; the default one has the empty
   * name. Missing where the runtime does not tell (containerd before 2).
   */
  handlers: z
    .record(z.string(), z.object({ userNamespaces: z.boolean(), recursiveReadOnlyMounts: z.boolean().optional() }))
    .optional(),
  /** Where the runtime’s events come from; `none` means that only relists find changes. */
  events: z.enum(['cri', 'containerd', 'none']),
});
export type RuntimeCondition = z.infer<typeof runtimeConditionSchema>;

export const runtimeCondition = fact({
  area: 'runtime',
  name: 'condition',
  key: 'name',
  owner: 'cri-bridge',
  payload: runtimeConditionSchema,
  about: 'Whether the container runtime answers and is ready, and what it can do.',
});

export const runtimeHint = event({
  area: 'runtime',
  name: 'hint',
  key: 'pod',
  publisher: 'cri-bridge',
  payload: z.object({
    containerId: z.string(),
    kind: z.string(),
    /** RFC 3339, the runtime’s clock. */
    at: z.string(),
  }),
  about: 'The runtime told of a change; the pod is read again because of it.',
});

export const fencePod = command({
  area: 'runtime',
  name: 'fence',
  key: 'pod',
  server: 'cri-bridge',
  fenced: false,
  request: z.object({
    hold: z.int().nonnegative(),
    /** The term under which the sender has the pod (`sync.fact.pod`); missing: 0. A smaller one than the holder's is refused. */
    term: z.int().nonnegative().optional(),
  }),
  result: z.object({ pod: runtimePodSchema.optional(), at: stampSchema }),
  about: 'Take over a pod: drops queued commands of earlier holders, waits for those in flight, reads the pod.',
});

export const readPod = command({
  area: 'runtime',
  name: 'read',
  key: 'pod',
  server: 'cri-bridge',
  fenced: false,
  request: z.object({}),
  result: z.object({ pod: runtimePodSchema.optional(), at: stampSchema }),
  about: 'Read the pod from the runtime now.',
});

export interface CriRequest<M extends UnaryCriMethod> {
  params: CriMethods[M]['request'];
  /** Lists only: at most `limit` items, after the item with the id `after`. */
  page?: { limit: number; after?: string | undefined } | undefined;
  /** CreateContainer only: environment, command and args, which are completed with the objects' values at the call. */
  process?: ProcessToComplete | undefined;
}

export interface CriResult<M extends UnaryCriMethod> {
  response: CriMethods[M]['response'];
  /** The end of the call. */
  at: { epoch: number; counter: number };
  /** Lists only: the id after which the next page begins; missing on the last one. */
  next?: string | undefined;
}

/** Calls that change a pod: only the holder of the pod's fence may make them, and they take their turn in its lane. */
export const fencedMethods = [
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
  'UpdateContainerResources',
  'UpdatePodSandboxResources',
] as const satisfies readonly BusCriMethod[];
export type FencedMethod = (typeof fencedMethods)[number];

/** Calls about one pod that wait for nobody. */
const podMethods: readonly string[] = [
  ...fencedMethods,
  'PodSandboxStatus',
  'ContainerStatus',
  'ExecSync',
  'Exec',
  'Attach',
  'PortForward',
  'ReopenContainerLog',
  'CheckpointContainer',
  'ContainerStats',
  'PodSandboxStats',
];

/** What a request names beside the call's own fields, because the values in it must not travel. */
const references: { readonly [M in keyof CriMethods]?: z.ZodRawShape } = {
  CreateContainer: { process: processToCompleteSchema.optional() },
};

/** A call whose request would carry a credential has no place on the bus: see `pullImage`. */
const SECRET = 'PullImage';

/** The unary CRI methods that may be called over the bus as they are. */
export type BusCriMethod = Exclude<UnaryCriMethod, typeof SECRET>;

type CriCommands = { readonly [M in BusCriMethod]: CommandDeclaration<CriRequest<M>, CriResult<M>> };

/** Every unary CRI call but PullImage as a command. A call that the runtime does not have fails with `Unimplemented`. */
export const criCommands = Object.fromEntries(
  (Object.keys(criMethods) as (keyof CriMethods)[])
    .filter((method) => criMethods[method].kind === 'unary' && method !== SECRET)
    .map((method) => [
      method,
      command({
        area: 'runtime',
        name: method,
        key: podMethods.includes(method) ? 'pod' : 'name',
        server: 'cri-bridge',
        fenced: (fencedMethods as readonly string[]).includes(method),
        request: z.object({
          params: criMethods[method].request,
          page: z.object({ limit: z.int().positive(), after: z.string().optional() }).optional(),
          ...references[method],
        }),
        result: z.object({
          response: criMethods[method].response,
          at: stampSchema,
          next: z.string().optional(),
        }),
        about: `CRI ${criMethods[method].service}.${method}, in the proto3 JSON mapping.`,
      }),
    ]),
) as unknown as CriCommands;
