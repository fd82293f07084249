import { namesIn } from '@kubus/filesystem';
import { ignoring } from '@kubus/ports';
import { readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Where a kubelet, also Kubus, makes links to logs, wherever those are. */
const FOLDER = '/var/log/containers';

/** Removes the links to logs in this folder: a kubelet that has ended leaves them with its pods. */
export async function removeLogLinks(logs: string): Promise<void> {
  for (const name of await namesIn(FOLDER)) {
    const path = join(FOLDER, name);
    // Others remove theirs at the same time.
    const target = await ignoring('ENOENT', readlink(path));
    if (target?.startsWith(`${logs}/`) === true) await rm(path, { force: true });
  }
}
