import { ignoring } from '@kubus/ports';
import { readdir } from 'node:fs/promises';

/** The names in a folder; none if the folder does not exist, or cannot exist because its name is too long. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await ignoring(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'], readdir(folder))) ?? [];
}

/** The names of the regular files in a folder; none if the folder does not exist. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = (await ignoring('ENOENT', readdir(folder, { withFileTypes: true }))) ?? [];
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
