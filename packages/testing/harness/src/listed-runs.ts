import { callCriOnce } from '@kubus/node-images';
import type { Labels } from './container-labels.ts';
import type { ContainerRuns } from './runtime-events.ts';

/**
 * The runs of every container and sandbox that the runtime has now, as CRI lists them. CRI does not report when a sandbox
 * was started and ended: its creation counts as its start, and one that is not ready at the first read is omitted.
 *
 * @throws the gRPC error when the runtime does not answer.
 */
export async function listRuns(socket: string): Promise<(ContainerRuns & { readonly labels: Labels })[]> {
  const { items = [] } = await callCriOnce(socket, 'ListPodSandbox', {});
  const sandboxes = items.flatMap(({ id = '', state, createdAt, labels = {} }) =>
    state === 'SANDBOX_READY'
      ? [{ id, labels, starts: 1, exits: 0, startedAt: milliseconds(createdAt) ?? 0, exitedAt: undefined }]
      : [],
  );
  const { containers = [] } = await callCriOnce(socket, 'ListContainers', {});
  const statuses = await Promise.all(
    containers.map(({ id = '' }) => callCriOnce(socket, 'ContainerStatus', { containerId: id })),
  );
  const runs = statuses.flatMap(({ status: { id = '', labels = {}, ...times } = {} }) => {
    const startedAt = milliseconds(times.startedAt);
    const exitedAt = milliseconds(times.finishedAt);
    return startedAt === undefined
      ? []
      : [{ id, labels, starts: 1, exits: exitedAt === undefined ? 0 : 1, startedAt, exitedAt }];
  });
  return [...sandboxes, ...runs];
}

/** CRI's nanoseconds; 0 means that it has not happened. */
function milliseconds(nanoseconds: string | undefined): number | undefined {
  const value = BigInt(nanoseconds ?? '0');
  return value === 0n ? undefined : Number(value / 1_000_000n);
}
