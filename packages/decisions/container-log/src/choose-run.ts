import type { PodStatus } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';

/** Thrown when a log cannot be read, or cannot be read yet. The message is for the caller that requested it. */
export class LogUnavailable extends KubusError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('log-unavailable', message, options);
  }
}

/**
 * The id, `<runtime>://<id>`, of the run whose log is requested: the current run, or the last one while the next has not
 * started; with `previous` the run before it. Rules and texts are the reference kubelet's (behaviour:labels-paths-logs, logs of
 * terminated).
 *
 * Throws {@link LogUnavailable} when there is no such run.
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
  if (found === undefined) throw new LogUnavailable(`${what} is not available`);
  const { running, terminated, waiting } = found.state ?? {};
  const last = found.lastState?.terminated;
  const lastId = last?.containerID ?? '';
  if (previous) {
    if (lastId !== '') return lastId;
    throw new LogUnavailable(`previous terminated ${what} not found`);
  }
  if (running !== undefined) return found.containerID ?? '';
  if (terminated !== undefined || last !== undefined) {
    const id = terminated?.containerID ?? '';
    if (id !== '') return id;
    if (lastId !== '') return lastId;
    throw new LogUnavailable(`${what} is terminated`);
  }
  throw new LogUnavailable(
    `${what} is waiting to start${waiting === undefined ? ' - no logs yet' : `: ${why(waiting)}`}`,
  );
}

function why({ reason = '' }: { readonly reason?: string | undefined }): string {
  if (reason === 'ErrImagePull') return "image can't be pulled";
  if (reason === 'ImagePullBackOff') return 'trying and failing to pull image';
  return reason;
}

/** The runtime's own id of a container, without the runtime's name before it. */
export function bareContainerId(id: string): string {
  return id.replace(/^[^:]*:\/\//, '');
}
