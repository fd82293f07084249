import { ignoring } from '@kubus/ports';
import { readdir } from 'node:fs/promises';

/** The names in a folder; none if the folder does not exist, or cannot exist because its name is too long. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await ignoring(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'], readdir(folder))) ?? [];
}
