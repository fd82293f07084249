import { namesIn } from '@kubus/filesystem';
import type { Sample } from '@kubus/service-kit';
import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { RunningLog } from './log-rotation.ts';

/** The disk usage of containers' logs in bytes, including rotated ones. */
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

/** A file that is removed in the meantime counts as 0. */
async function bytesIn(folder: string): Promise<number> {
  const names = await namesIn(folder);
  const sizes = await Promise.all(
    names.map((name) =>
      lstat(join(folder, name)).then(
        ({ blocks }) => blocks * 512,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
