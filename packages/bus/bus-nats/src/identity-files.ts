import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KubusError, toError } from '@kubus/ports';
import { publicKeyOf } from './nkey.ts';

/** The file of an identity's secret key in a node's folder of identities; mode 0600. */
export function identityFile(folder: string, instance: string): string {
  return join(folder, `${instance}.nk`);
}

/**
 * The nkey seed (`SU...`) of an identity; never logged. Rejects with the file's own error, and with a KubusError `bad-identity` that names
 * the file when it holds no seed.
 */
export async function readSeed(folder: string, instance: string): Promise<string> {
  const file = identityFile(folder, instance);
  const seed = (await readFile(file, 'utf8')).trim();
  try {
    publicKeyOf(seed);
  } catch (cause) {
    throw new KubusError('bad-identity', `${file} holds no identity of ${instance}: ${toError(cause).message}`, {
      cause,
    });
  }
  return seed;
}
