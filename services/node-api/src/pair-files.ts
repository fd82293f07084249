import { hasErrno } from '@kubus/ports';
import { access, mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ServingPair } from './servers.ts';

/** Where a certificate and its key are. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/**
 * The node's own pair in `folder`, `kubelet.crt` and `kubelet.key` as with the reference: the one that is there, or one that
 * is made now.
 */
export async function ownPair(folder: string, make: () => Promise<ServingPair>): Promise<PairFiles> {
  const files = { certFile: join(folder, 'kubelet.crt'), keyFile: join(folder, 'kubelet.key') };
  if (!(await isThere(files.certFile)) || !(await isThere(files.keyFile))) await writePair(files, await make());
  return files;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return false;
    throw error;
  }
}

async function writePair({ certFile, keyFile }: PairFiles, { certificate, key }: ServingPair): Promise<void> {
  await mkdir(dirname(keyFile), { recursive: true, mode: 0o755 });
  await replace(keyFile, key, 0o600);
  await replace(certFile, certificate, 0o644);
}

/** Nobody ever reads half a file. */
async function replace(path: string, text: string, mode: number): Promise<void> {
  await writeFile(`${path}.tmp`, text, { mode });
  await rename(`${path}.tmp`, path);
}
