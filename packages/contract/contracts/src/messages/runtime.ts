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
  /** Whether the sandbox shares the host's network; missing where the runtime does not report it (containerd 2.1). */
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
  /** The runtime's reason, such as `OOMKilled`, `Error` or `Completed`. */
  reason: z.string(),
  message: z.string(),
  /** As the user specified it. */
  image: z.string(),
  imageRef: z.string(),
  imageId: z.string(),
  /** Absolute path of the log file. */
  logPath: z.string(),
  /** For an exited container: the absolute path of the file for its termination message. */
  terminationLog: z.string().optional(),
  /** The `io.kubernetes.*` annotations with which the container was created. */
  annotations: z.record(z.string(), z.string()),
  /** The limits of a running container, in the kernel's units, decimal; missing where the runtime does not report them. */
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
  /** Taken before the first of the calls whose results are in this state. */
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
  about:
    'The pod state: what the container runtime has of a pod. Removed when the runtime has nothing of the pod any more.',
});

export const runtimeConditionSchema = z.object({
  ready: z.boolean(),
  /** Why not, in the runtime's words, or that it cannot be reached. */
  reason: z.string().optional(),
  message: z.string().optional(),
  name: z.string().optional(),
  version: z.string().optional(),
  /** Whether cni-bridge sets up the pods’ network, or the runtime itself because it has no handler for that. */
  network: z.enum(['cni-bridge', 'runtime']),
  /** The runtime’s own report about its network; counts only where the runtime sets up the network. */
  networkReady: z.boolean(),
  networkReason: z.string().optional(),
  networkMessage: z.string().optional(),
  /**
   * Whether the runtime can omit the groups that an image gives its user (supplementalGroupsPolicy `Strict`); missing
   * where the runtime does not report it (containerd before 2).
   */
  strictSupplementalGroups: z.boolean().optional(),
  /**
   * The features of each runtime handler, by the handler name in a RuntimeClass; the default handler has the empty
   * name. Missing where the runtime does not report them (containerd before 2).
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
  about: 'Whether the container runtime answers and is ready, and its features.',
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
  about: 'The runtime reported a change; the pod is read again.',
});

export const fencePod = command({
  area: 'runtime',
  name: 'fence',
  key: 'pod',
  server: 'cri-bridge',
  fenced: false,
  request: z.object({
    hold: z.int().nonnegative(),
    /** The term in which the sender owns the pod (`sync.fact.pod`); missing: 0. A term smaller than the current owner's is refused. */
    term: z.int().nonnegative().optional(),
  }),
  result: z.object({ pod: runtimePodSchema.optional(), at: stampSchema }),
  about:
    'Fence a pod for its new owner: drops queued commands of earlier owners, waits for those in flight, reads the pod.',
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

export const firstFenceSchema = z.object({
  /** As in {@link fencePod}. */
  term: z.int().nonnegative(),
  /** The epoch of the cri-bridge whose complete set of pods did not contain this one: in any later life the command is void. */
  bridge: z.int().nonnegative(),
});
export type FirstFence = z.infer<typeof firstFenceSchema>;

/** A text that only its reader can open: see SealKey of @kubus/service-kit. */
export const sealedTextSchema = z.object({
  /** The sender's public key. */
  by: z.string().max(64),
  /** Base64. */
  box: z.string().max(8_192),
});
export type SealedText = z.infer<typeof sealedTextSchema>;

/** A sealed command: a JSON array of strings, at most as long as the request of a client can make it. */
const sealedCommandSchema = sealedTextSchema.extend({ box: z.string().max(1_048_576) });

export interface CriRequest<M extends UnaryCriMethod> {
  params: CriMethods[M]['request'];
  /** Lists only: at most `limit` items, starting after the item with the id `after`. */
  page?: { limit: number; after?: string | undefined } | undefined;
  /**
   * ExecSync only: so many bytes of the output of a command that fails are in the answer, and nothing of one that succeeds; missing: all of
   * both. What is in messages is in recordings too.
   */
  output?: number | undefined;
  /**
   * Exec, Attach and PortForward only: the public key for which the address of the stream is sealed, because whoever knows the address can
   * use it. Missing: the address is in the response.
   */
  reader?: string | undefined;
  /**
   * Exec only: the command instead of `params.cmd`, sealed for the key that the bridge has announced, because what people type may contain
   * a password.
   */
  command?: SealedText | undefined;
  /** RunPodSandbox only: makes the sender the pod's owner, if the bridge knows of no other one and has nothing of the pod. */
  fence?: FirstFence | undefined;
  /** CreateContainer only: environment, command and args, which are completed with the objects' values when the call is made. */
  process?: ProcessToComplete | undefined;
}

export interface CriResult<M extends UnaryCriMethod> {
  response: CriMethods[M]['response'];
  /** The end of the call. */
  at: { epoch: number; counter: number };
  /** Lists only: the id after which the next page begins; missing on the last page. */
  next?: string | undefined;
  /** RunPodSandbox only: the pod, read after the call; missing when it could not be read. */
  pod?: RuntimePod | undefined;
  /** Exec, Attach and PortForward for a `reader` only: the address, which is empty in the response. */
  sealedUrl?: SealedText | undefined;
}

/** Calls that change a pod: only the holder of the pod's fencing token may make them, and they are queued in the pod's lane. */
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

/** Calls about one pod: those above, and those that are not queued. */
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

const reader = { reader: z.string().max(64).optional() };
/** Fields that a request has in addition to the call's own. */
const extras: { readonly [M in keyof CriMethods]?: z.ZodRawShape } = {
  Attach: reader,
  CreateContainer: { process: processToCompleteSchema.optional() },
  Exec: { ...reader, command: sealedCommandSchema.optional() },
  ExecSync: { output: z.int().nonnegative().optional() },
  PortForward: reader,
  RunPodSandbox: { fence: firstFenceSchema.optional() },
};

const sealedUrl = { sealedUrl: sealedTextSchema.optional() };
/** Fields that a result has in addition to the call's own. */
const readings: { readonly [M in keyof CriMethods]?: z.ZodRawShape } = {
  Attach: sealedUrl,
  Exec: sealedUrl,
  PortForward: sealedUrl,
  RunPodSandbox: { pod: runtimePodSchema.optional() },
};

/** A call whose request would contain a credential is not sent over the bus: see `pullImage`. */
const SECRET = 'PullImage';

/** The unary CRI methods that may be called over the bus as they are. */
export type BusCriMethod = Exclude<UnaryCriMethod, typeof SECRET>;

type CriCommands = { readonly [M in BusCriMethod]: CommandDeclaration<CriRequest<M>, CriResult<M>> };

/** Every unary CRI call except PullImage as a command. A call that the runtime does not implement fails with `Unimplemented`. */
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
          ...extras[method],
        }),
        result: z.object({
          response: criMethods[method].response,
          at: stampSchema,
          next: z.string().optional(),
          ...readings[method],
        }),
        about: `CRI ${criMethods[method].service}.${method}, in the proto3 JSON mapping.`,
      }),
    ]),
) as unknown as CriCommands;
