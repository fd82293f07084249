import type { ContainerState, ContainerStatus, Pod, RuntimeContainer } from '@kubus/contracts';
import {
  type NamedContainer,
  containersOf,
  initSucceeded,
  noProbeResults,
  restartDecision,
} from '@kubus/pod-lifecycle';
import type { ContainerDetails, PodStatusInput } from './input.ts';
import { STATUS_UNKNOWN, UNLOCATED, lostContainer } from './lost-container.ts';
import { readiness } from './readiness.ts';
import { pastTimeOf, timeOf } from './times.ts';
import { volumeMountStatuses } from './volume-mounts.ts';

export interface ContainerStatuses {
  /** In the order of the spec. */
  readonly init: ContainerStatus[];
  /** Sorted by name, as are the ephemeral ones. */
  readonly regular: ContainerStatus[];
  readonly ephemeral: ContainerStatus[];
}

/** The parts of a container's status that do not depend on its probes. */
type Core = Pick<ContainerStatus, 'state' | 'lastState' | 'restartCount' | 'image' | 'imageID' | 'containerID'>;

/** The status of every container (behaviour:pod-status). `restartingAll`: the whole pod is being restarted in its sandbox. */
export function containerStatuses(input: PodStatusInput, restartingAll: boolean): ContainerStatuses {
  const all = containersOf(input.pod).map((named) => ({ named, status: containerStatus(named, input, restartingAll) }));
  const of = (...kinds: NamedContainer['kind'][]) =>
    all.filter(({ named }) => kinds.includes(named.kind)).map(({ status }) => status);
  const byName = (a: ContainerStatus, b: ContainerStatus) => (a.name < b.name ? -1 : 1);
  return {
    init: of('init', 'sidecar'),
    regular: of('regular').sort(byName),
    ephemeral: of('ephemeral').sort(byName),
  };
}

/** The previous status of the container called `name`. */
function previousStatus({ previous, pod }: PodStatusInput, name: string): ContainerStatus | undefined {
  const status = previous ?? pod.status;
  return [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find((one) => one.name === name);
}

function containerStatus(named: NamedContainer, input: PodStatusInput, restartingAll: boolean): ContainerStatus {
  const { container } = named;
  const runs = (input.runtime?.containers ?? []).filter(({ name }) => name === container.name);
  const [newest] = runs;
  const before = previousStatus(input, container.name);
  // Removed since the pod has ended: its status stays whole.
  if (newest === undefined && input.ending && before?.state?.terminated !== undefined) return before;
  const core =
    newest === undefined
      ? lostContainer(named, input, before, restartingAll)
      : knownContainer(newest, runs[1], input, before);
  const shown = withFailure(named, input, newest, core);
  const details = (newest === undefined ? undefined : input.details?.get(newest.id)) ?? {};
  const volumeMounts = volumeMountStatuses(container, {
    recursiveReadOnly: input.recursiveReadOnlyMounts === true,
    imageVolumes: details.imageVolumes,
  });
  // The devices of init containers are not reported (KEP-4680).
  const devices =
    named.kind === 'regular' ? (input.devices?.get(container.name) ?? before?.allocatedResourcesStatus) : undefined;
  return {
    name: container.name,
    ...shown,
    ...readiness(named, shown.state, newest?.id, input.probes ?? noProbeResults),
    ...(newest !== undefined && resourceFields(named, details)),
    ...(volumeMounts !== undefined && { volumeMounts }),
    ...(details.user !== undefined && { user: details.user }),
    ...(devices !== undefined && { allocatedResourcesStatus: devices }),
    ...(details.stopSignal !== undefined && { stopSignal: details.stopSignal }),
  };
}

/**
 * A container that should be running and is not shows why it waits; the end of its last run becomes the last state.
 */
function withFailure(
  { kind, container }: NamedContainer,
  { pod, waiting }: PodStatusInput,
  newest: RuntimeContainer | undefined,
  core: Core,
): Core {
  const failure = waiting.get(container.name);
  if (failure === undefined || !isToRun(pod, kind, container, newest)) return core;
  const lastState = core.state?.terminated === undefined ? core.lastState : { terminated: core.state.terminated };
  return { ...core, lastState, state: { waiting: { ...failure } } };
}

function isToRun(
  pod: Pod,
  kind: NamedContainer['kind'],
  container: NamedContainer['container'],
  newest: RuntimeContainer | undefined,
): boolean {
  if (kind === 'init' && newest !== undefined && initSucceeded(newest)) return false;
  if (kind === 'ephemeral' && newest?.state === 'exited') return false;
  return restartDecision(pod, container, newest).restart;
}

function knownContainer(
  newest: RuntimeContainer,
  earlier: RuntimeContainer | undefined,
  input: PodStatusInput,
  before: ContainerStatus | undefined,
): Core {
  const unlocated = newest.state === 'unknown' ? unlocatedRun(before) : undefined;
  return {
    state: unlocated?.state ?? stateOf(newest, input),
    lastState: lastStateOf(newest, earlier, input, before),
    restartCount: unlocated?.restartCount ?? newest.attempt,
    image: newest.image,
    imageID: newest.imageRef,
    containerID: idOf(newest, input),
  };
}

/** How the previous run ended: as the runtime reports it, or as in the previous status when the runtime does not list it any more. */
function lastStateOf(
  newest: RuntimeContainer,
  earlier: RuntimeContainer | undefined,
  input: PodStatusInput,
  before: ContainerStatus | undefined,
): ContainerState {
  if (earlier !== undefined) {
    const { terminated } = stateOf(earlier, input);
    return terminated === undefined ? {} : { terminated };
  }
  if (newest.attempt === 0) return {};
  const same = before?.containerID === idOf(newest, input);
  const terminated = (same ? undefined : before?.state?.terminated) ?? before?.lastState?.terminated;
  return terminated === undefined ? {} : { terminated };
}

/** A container whose state the runtime has lost counts as ended if it was running when it was last seen. */
function unlocatedRun(
  before: ContainerStatus | undefined,
): Pick<ContainerStatus, 'state' | 'restartCount'> | undefined {
  if (before?.state?.running !== undefined) {
    return { state: { terminated: UNLOCATED }, restartCount: before.restartCount + 1 };
  }
  const isUnlocated = before?.state?.terminated?.reason === STATUS_UNKNOWN;
  return isUnlocated ? { state: before.state, restartCount: before.restartCount } : undefined;
}

function stateOf(container: RuntimeContainer, input: PodStatusInput): ContainerState {
  switch (container.state) {
    case 'running':
      return { running: { startedAt: timeOf(container.startedAt) } };
    case 'exited': {
      const written = input.details?.get(container.id)?.terminationMessage ?? '';
      const message = [container.message, written].filter((text) => text !== '').join(': ');
      return {
        terminated: {
          exitCode: container.exitCode,
          reason: container.reason,
          ...(message !== '' && { message }),
          startedAt: pastTimeOf(container.startedAt),
          finishedAt: pastTimeOf(container.finishedAt),
          containerID: idOf(container, input),
        },
      };
    }
    default:
      return { waiting: {} };
  }
}

function idOf({ id }: RuntimeContainer, { runtimeName }: PodStatusInput): string {
  return `${runtimeName}://${id}`;
}

/** The allocated and the actual resources of the container, as far as the node reports them; otherwise those of its spec. */
function resourceFields(
  { container }: NamedContainer,
  { allocated, resources }: ContainerDetails,
): Pick<ContainerStatus, 'allocatedResources' | 'resources'> {
  const { requests, limits } = container.resources ?? {};
  const granted = allocated ?? requests ?? {};
  const some = (list: Record<string, string> | undefined) => list !== undefined && Object.keys(list).length > 0;
  return {
    ...(some(granted) && { allocatedResources: { ...granted } }),
    resources: resources ?? { ...(some(limits) && { limits }), ...(some(requests) && { requests }) },
  };
}
