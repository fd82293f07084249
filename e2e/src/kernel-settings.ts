import { kernelDefaults } from '@kubus/launcher';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const SYSCTLS = '/proc/sys';

/** Reads the settings of the kernel that an agent writes; returns what gives the machine its own again. */
export async function keepKernelSettings(): Promise<() => Promise<void>> {
  const files = Object.keys(kernelDefaults).map((name) => join(SYSCTLS, name));
  const values = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return async () => {
    for (const [index, file] of files.entries()) await writeFile(file, values[index] ?? '');
  };
}
