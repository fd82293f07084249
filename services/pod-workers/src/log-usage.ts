import { namesIn } from '@kubus/mount';
import type { Sample } from '@kubus/service-kit';
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { RunningLog } from './log-rotation.ts';

/** What the logs of containers take on disk in bytes, those that were rotated included. */
export async function logUsage(logs: readonly Pick<RunningLog, 'podUid' | 'path'>[]): Promise<Sample[]> {
  return Promise.all(
    logs.map(async ({ podUid: uid, path }) => {
      const folder = dirname(path);
      // <namespace>_<pod>_<uid>/<container>/<attempt>.log
      const [namespace = '', pod = ''] = basename(dirname(folder)).split('_');
      const labels = { uid, namespace, pod, container: basename(folder) };
      return { labels, value: await bytesIn(folder) };
    }),
  );
}

/** A file that goes away meanwhile takes nothing. */
async function bytesIn(folder: string): Promise<number> {
  const names = await namesIn(folder);
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ blocks }) => blocks * 512,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
