import { type Pulled, imagePull, pullImage } from '@kubus/contracts';
import { formatBytes } from '@kubus/images';
import { BlobProgress, BlobStatuses } from '@kubus/node-images';
import { systemIds } from '@kubus/service-kit';
import { setTimeout as wait } from 'node:timers/promises';
import type { NodeLink } from '../node/node-link.ts';
import { ProgressLine } from '../output/progress-line.ts';

/** How often the progress is read, in milliseconds. */
const PROGRESS_MS = 250;

/**
 * Pulls an image as the node does for pods: with the node's credentials, in its queue and within its limits. Shows what has arrived.
 *
 * @param socket containerd's
 * @throws the error of the node, with the code `pull-failed`.
 */
export async function pullForNode(link: NodeLink, socket: string, image: string): Promise<Pulled> {
  const progress = new ProgressLine();
  const over = new AbortController();
  const pulls = await link.facts(imagePull);
  // The queue shows for whom an image is pulled.
  const pod = { namespace: '', name: 'kubus image pull', uid: `image-pull-${systemIds.hex(8)}` };
  const blobs = new BlobStatuses(socket);
  const show = async () => {
    const sum = new BlobProgress();
    while (!over.signal.aborted) {
      const { arrived, total } = sum.update(await blobs.list().catch(() => []));
      const queued = pulls.get(image)?.value;
      if (queued?.state === 'queued') progress.show(`${image}: waiting for ${(queued.ahead ?? 0) + 1} other pulls`);
      else progress.show(`${image}: ${formatBytes(arrived)} of ${formatBytes(total)}`);
      await wait(PROGRESS_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  const shown = show();
  try {
    const request = { image, pod, pullSecrets: [], annotations: {} };
    return (await link.bus.call(pullImage, pod.uid, request)).result;
  } finally {
    over.abort();
    await shown;
    blobs.close();
    progress.end();
  }
}
