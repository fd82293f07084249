import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The file of an identity's secret key in a node's folder of identities; mode 0600. */
export function identityFile(folder: string, instance: string): string {
  return join(folder, `${instance}.nk`);
}

/** The nkey seed (`SU...`) of an identity; never logged. Rejects with the file's own error. */
export async function readSeed(folder: string, instance: string): Promise<string> {
  return (await readFile(identityFile(folder, instance), 'utf8')).trim();
}
