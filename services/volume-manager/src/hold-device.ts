import { isMounted, mount } from '@kubus/mount';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FOLDER_MODE } from './file-stat.ts';

/** Makes the file `held` be the device, whatever becomes of the device's name. May be repeated. Throws MountError. */
export async function holdDevice(source: string, held: string): Promise<void> {
  if (await isMounted(held)) return;
  await mkdir(dirname(held), { recursive: true, mode: FOLDER_MODE });
  await (await open(held, 'a', 0o600)).close();
  await mount({ type: 'none', source, target: held, options: ['bind'] });
}
