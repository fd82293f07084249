import type { RuntimeContainer } from '@kubus/contracts';
import type { PodSync } from '../sync/pod-sync.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** What removing containers uses. */
export type RemovalSync = PodSync & Pick<WorkerDeps, 'files'>;

/** Removes dead containers and the files of their runs; with `keep.logs` the files stay, because another run follows. */
export async function removeContainers(
  { files, ref, runtime }: RemovalSync,
  containers: readonly RuntimeContainer[],
  keep: { readonly logs: boolean },
): Promise<void> {
  for (const container of containers) {
    await runtime.change('RemoveContainer', { containerId: container.id }, runtime.cause);
    if (!keep.logs) await files.removeRun(ref, container);
  }
}
