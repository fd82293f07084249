import { createRegular, isMounted, mount } from '@kubus/filesystem';
import { ignoring } from '@kubus/ports';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FOLDER_MODE } from './file-stat.ts';

/**
 * Bind-mounts a device to the file `held`, which keeps referring to that device whatever happens to its name.
 * Idempotent. Throws MountError.
 */
export async function pinDevice(source: string, held: string): Promise<void> {
  if (await isMounted(held)) return;
  await mkdir(dirname(held), { recursive: true, mode: FOLDER_MODE });
  await (await ignoring('EEXIST', createRegular(held, 0o600)))?.close();
  await mount({ type: 'none', source, target: held, options: ['bind'] });
}
