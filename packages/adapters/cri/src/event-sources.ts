import { timeOfNanos } from '@kubus/pod';
import type { ContainerEventType, ContainerStatus, PodSandboxStatus, VersionResponse } from '@kubus/proto/cri';
import { criCodecs } from '@kubus/proto/cri-grpc';
import {
  ContainerCreate,
  ContainerDelete,
  Envelope,
  EventsService,
  SubscribeRequest,
  TaskDelete,
  TaskOOM,
  TaskStart,
} from '@kubus/proto/containerd-events';

/**
 * A container or sandbox has changed; the change itself has to be read from the runtime. Hints of containerd's own service
 * arrive before CRI shows the change: some 20 ms after `stopped` the status is still running, and has to be read again.
 */
export interface ContainerHint {
  /** The ID of a container or, for the sandbox's own process, of a sandbox. */
  readonly containerId: string;
  readonly kind: 'created' | 'started' | 'stopped' | 'deleted' | 'oom';
  /** RFC 3339 with nine fractional digits. */
  readonly at: string;
  /** Set when the source reports it. */
  readonly podUid?: string;
  /** The states of the sandbox and all its containers when the hint was made, if the source reports them. */
  readonly states?: {
    readonly sandbox: Pick<PodSandboxStatus, 'id' | 'state'>;
    readonly containers: readonly Pick<ContainerStatus, 'id' | 'state'>[];
  };
}

/** cri: GetContainerEvents. containerd: the event service of containerd itself. */
export type EventSource = 'cri' | 'containerd';

/** One stream of container events: how to request it and how to read its messages. */
export interface Source {
  readonly name: EventSource;
  /** The gRPC path. */
  readonly path: string;
  readonly request: Buffer;
  /** Undefined when the message does not concern a container's lifecycle. */
  readonly decode: (bytes: Uint8Array) => ContainerHint | undefined;
}

const cri: Source = {
  name: 'cri',
  path: criCodecs.GetContainerEvents.path,
  request: criCodecs.GetContainerEvents.encodeRequest({}),
  decode: hintFromCri,
};

/** k8s.io: the namespace in which containerd's CRI keeps its containers. */
const containerd: Source = {
  name: 'containerd',
  path: EventsService.subscribe.path,
  request: EventsService.subscribe.requestSerialize(
    SubscribeRequest.fromJSON({ filters: ['namespace==k8s.io,topic~="^/(tasks|containers)/"'] }),
  ),
  decode: hintFromContainerd,
};

/**
 * The streams to try with a runtime, best first. containerd 1.6 has no CRI events; 1.7 has one queue for all
 * clients, so that a stream whose client has disconnected still consumes some (containerd issue 7318).
 */
export function sourcesOf({ runtimeName, runtimeVersion = '' }: VersionResponse): readonly Source[] {
  return runtimeName === 'containerd' && /^v?1\./.test(runtimeVersion) ? [containerd] : [cri, containerd];
}

const criKinds: { readonly [T in ContainerEventType]: ContainerHint['kind'] | undefined } = {
  CONTAINER_CREATED_EVENT: 'created',
  CONTAINER_STARTED_EVENT: 'started',
  CONTAINER_STOPPED_EVENT: 'stopped',
  CONTAINER_DELETED_EVENT: 'deleted',
  UNRECOGNIZED: undefined,
};

function hintFromCri(bytes: Uint8Array): ContainerHint | undefined {
  const event = criCodecs.GetContainerEvents.decodeResponse(bytes);
  const kind = criKinds[event.containerEventType ?? 'UNRECOGNIZED'];
  if (kind === undefined || event.containerId === undefined) {
    return undefined;
  }
  const { podSandboxStatus, containersStatuses = [] } = event;
  const podUid = podSandboxStatus?.metadata?.uid;
  // No more of them: they contain texts of containers.
  const stateOf = ({ id, state }: Pick<ContainerStatus, 'id' | 'state'>) => ({ id, state });
  return {
    containerId: event.containerId,
    kind,
    at: timeOfNanos(BigInt(event.createdAt ?? 0)),
    ...(podUid !== undefined && { podUid }),
    ...(podSandboxStatus?.id !== undefined &&
      podSandboxStatus.id !== '' && {
        states: {
          sandbox: { id: podSandboxStatus.id, state: podSandboxStatus.state },
          containers: containersStatuses.map(stateOf),
        },
      }),
  };
}

/**
 * Keyed by payload type, the end of an Any's type_url. TaskExit arrives some ten milliseconds before TaskDelete, but CRI
 * reports running until after TaskDelete; so only the latter is a hint.
 */
const containerdKinds: Readonly<
  Record<string, (value: Uint8Array) => Pick<ContainerHint, 'containerId' | 'kind'> | undefined>
> = {
  'containerd.events.ContainerCreate': (value) => ({ kind: 'created', containerId: ContainerCreate.decode(value).id }),
  'containerd.events.ContainerDelete': (value) => ({ kind: 'deleted', containerId: ContainerDelete.decode(value).id }),
  'containerd.events.TaskStart': (value) => ({ kind: 'started', containerId: TaskStart.decode(value).containerId }),
  'containerd.events.TaskOOM': (value) => ({ kind: 'oom', containerId: TaskOOM.decode(value).containerId }),
  'containerd.events.TaskDelete': (value) => ({ kind: 'stopped', containerId: TaskDelete.decode(value).containerId }),
};

function hintFromContainerd(bytes: Uint8Array): ContainerHint | undefined {
  const { event, timestamp } = Envelope.decode(bytes);
  if (event === undefined) {
    return undefined;
  }
  const hint = containerdKinds[event.typeUrl.slice(event.typeUrl.lastIndexOf('/') + 1)]?.(event.value);
  const nanos = BigInt(timestamp?.seconds ?? 0) * 1_000_000_000n + BigInt(timestamp?.nanos ?? 0);
  return hint && { ...hint, at: timeOfNanos(nanos) };
}
