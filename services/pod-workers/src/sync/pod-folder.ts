import { KubusError, toError } from '@kubus/ports';
import { type VolumeSync, checkUnmounted } from '../volumes/volumes.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { RETRY_MS, TRANSIENT_MS, TryAgain } from './errors.ts';
import { type PodSync, recordEvent } from './pod-sync.ts';
import { type Step, starts } from './step.ts';

/** What the step of the pod's folder uses. */
export type FolderSync = PodSync & VolumeSync & Pick<WorkerDeps, 'files'>;

/** The pod's folder, which contains all files that are created for it (behaviour:pod-workers, step 9). */
export const folderStep: Step<FolderSync, FolderSync> = {
  run: async (sync, { actions }) => {
    if (starts(actions)) await makeFolder(sync);
  },
  undo: async (sync, { forget }) => {
    checkUnmounted(sync);
    if (forget) await removeFolder(sync);
  },
};

async function makeFolder(sync: FolderSync): Promise<void> {
  try {
    await sync.files.makeFolder(sync.ref);
  } catch (error) {
    const message = `error making pod data directories: ${toError(error).message}`;
    recordEvent(sync, { type: 'Warning', reason: 'Failed', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}

async function removeFolder({ files, ref }: FolderSync): Promise<void> {
  try {
    await files.remove(ref);
  } catch (error) {
    if (!(error instanceof KubusError && error.code === 'still-mounted')) throw error;
    throw new TryAgain(error.message, TRANSIENT_MS, { cause: error });
  }
}
