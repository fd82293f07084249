import { ignoring } from '@kubus/ports';
import { readdir } from 'node:fs/promises';

/** The names in a folder; none where there is no such folder. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await ignoring(['ENOENT', 'ENOTDIR'], readdir(folder))) ?? [];
}
