import type { Container, ContainerState, ContainerStatus, Pod, RuntimeContainer, RuntimePod } from '@kubus/contracts';
import { restartDecision } from '@kubus/pod-lifecycle';

/** Why a container that should run does not: what the last attempt to start it ran into. */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

export interface ContainerStatusInput {
  readonly pod: Pod;
  readonly runtime: RuntimePod | undefined;
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** Name of the runtime, for container IDs: `containerd`. */
  readonly runtimeName: string;
}

/** Status of every regular container, sorted by name (kubelet behaviour 1.12). */
export function containerStatuses(input: ContainerStatusInput): ContainerStatus[] {
  return input.pod.spec.containers
    .map((container) => containerStatus(container, input))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function containerStatus(container: Container, input: ContainerStatusInput): ContainerStatus {
  const { pod, runtime, waiting, runtimeName } = input;
  const [newest, before] = (runtime?.containers ?? []).filter(({ name }) => name === container.name);
  if (newest === undefined) {
    return {
      name: container.name,
      state: { waiting: waiting.get(container.name) ?? { reason: 'ContainerCreating' } },
      lastState: {},
      ready: false,
      restartCount: 0,
      image: container.image ?? '',
      imageID: '',
      started: false,
    };
  }
  const running = newest.state === 'running';
  let state = stateOf(newest, runtimeName);
  let lastState: ContainerState = before === undefined ? {} : stateOf(before, runtimeName);
  const failure = waiting.get(container.name);
  if (!running && failure !== undefined && restartDecision(pod, container, newest).restart) {
    if (state.terminated !== undefined) lastState = state;
    state = { waiting: failure };
  }
  return {
    name: container.name,
    state,
    lastState: lastState.terminated === undefined ? {} : lastState,
    ready: running,
    restartCount: newest.attempt,
    image: newest.image,
    imageID: newest.imageRef,
    containerID: `${runtimeName}://${newest.id}`,
    started: running,
  };
}

function stateOf(container: RuntimeContainer, runtimeName: string): ContainerState {
  switch (container.state) {
    case 'running':
      return { running: { startedAt: timeOf(container.startedAt) } };
    case 'exited':
      return {
        terminated: {
          exitCode: container.exitCode,
          reason: container.reason,
          ...(container.message !== '' && { message: container.message }),
          startedAt: timeOf(container.startedAt),
          finishedAt: timeOf(container.finishedAt),
          containerID: `${runtimeName}://${container.id}`,
        },
      };
    default:
      return { waiting: {} };
  }
}

/** RFC 3339 in whole seconds, as the API shows times. */
export function timeOf(nanos: string): string | null {
  if (nanos === '0' || nanos === '') return null;
  return `${new Date(Number(BigInt(nanos) / 1_000_000n)).toISOString().slice(0, 19)}Z`;
}
