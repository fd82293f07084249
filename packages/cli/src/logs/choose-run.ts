import type { Pod, PodStatus } from '@kubus/contracts';
import { containersOf, findContainer } from '@kubus/pod-lifecycle';
import { UserError } from '../user-error.ts';

/** The container that is meant when none is named (kubectl). */
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/**
 * The containers whose logs are asked for, and what to tell the user about the choice. Texts are kubectl's.
 *
 * Throws a {@link UserError} when the pod has no such container.
 */
export function chooseContainers(
  pod: Pod,
  asked: { readonly container?: string | undefined; readonly all?: boolean | undefined },
): { readonly names: readonly string[]; readonly notice: string | undefined } {
  if (asked.all === true) return { names: containersOf(pod).map(({ container }) => container.name), notice: undefined };
  const { name } = pod.metadata;
  const preset = pod.metadata.annotations?.[DEFAULT_CONTAINER] ?? '';
  const isThere = preset !== '' && findContainer(pod, preset) !== undefined;
  const chosen = asked.container ?? (isThere ? preset : (pod.spec.containers[0]?.name ?? ''));
  if (findContainer(pod, chosen) === undefined) {
    throw new UserError(`container ${chosen} is not valid for pod ${name} out of: ${allNames(pod)}`);
  }
  if (asked.container !== undefined || isThere) return { names: [chosen], notice: undefined };
  const missing = preset === '' ? [] : [`Default container name "${preset}" not found in pod ${name}`];
  const choice = containersOf(pod).length > 1 ? [`Defaulted container "${chosen}" out of: ${allNames(pod)}`] : [];
  return { names: [chosen], notice: [...missing, ...choice].join('\n') || undefined };
}

function allNames({ spec }: Pod): string {
  return [
    ...spec.containers.map(({ name }) => name),
    ...(spec.ephemeralContainers ?? []).map(({ name }) => `${name} (ephem)`),
    ...(spec.initContainers ?? []).map(({ name }) => `${name} (init)`),
  ].join(', ');
}

/**
 * The runtime's id of the run whose log is meant: the present one, or the last one while the next has not started; with
 * `previous` the one before. Rules and texts are the reference kubelet's (kubelet behaviour 1.7, logs of terminated).
 *
 * Throws a {@link UserError} when there is no such run.
 */
export function chooseRun(
  pod: string,
  container: string,
  status: PodStatus | undefined,
  { previous }: { readonly previous: boolean },
): string {
  const what = `container "${container}" in pod "${pod}"`;
  const statuses = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  const found = statuses.find(({ name }) => name === container);
  if (found === undefined) throw new UserError(`${what} is not available`);
  const { running, terminated, waiting } = found.state ?? {};
  const last = found.lastState?.terminated;
  const lastId = last?.containerID ?? '';
  if (previous) {
    if (lastId !== '') return bareId(lastId);
    throw new UserError(`previous terminated ${what} not found`);
  }
  if (running !== undefined) return bareId(found.containerID ?? '');
  if (terminated !== undefined || last !== undefined) {
    const id = terminated?.containerID ?? '';
    if (id !== '') return bareId(id);
    if (lastId !== '') return bareId(lastId);
    throw new UserError(`${what} is terminated`);
  }
  throw new UserError(`${what} is waiting to start${waiting === undefined ? ' - no logs yet' : `: ${why(waiting)}`}`);
}

function why({ reason = '' }: { readonly reason?: string | undefined }): string {
  if (reason === 'ErrImagePull') return "image can't be pulled";
  if (reason === 'ImagePullBackOff') return 'trying and failing to pull image';
  return reason;
}

/** Without the runtime's name before it. */
function bareId(id: string): string {
  return id.replace(/^[^:]*:\/\//, '');
}
