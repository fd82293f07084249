import { hasErrno } from '@kubus/ports';
import { access, mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PairFiles, ServingPair } from './serving-pair.ts';

/**
 * The node's own pair in `folder`, `kubelet.crt` and `kubelet.key` as with the reference: the existing one, or a new one
 * that is created by this call.
 */
export async function ownPair(folder: string, make: () => Promise<ServingPair>): Promise<PairFiles> {
  const files = { certFile: join(folder, 'kubelet.crt'), keyFile: join(folder, 'kubelet.key') };
  if (!(await exists(files.certFile)) || !(await exists(files.keyFile))) await writePair(files, await make());
  return files;
}

async function exists(path: string): Promise<boolean> {
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

/** Replaces a file as a whole: no reader sees an incomplete one. */
async function replace(path: string, text: string, mode: number): Promise<void> {
  await writeFile(`${path}.tmp`, text, { mode });
  await rename(`${path}.tmp`, path);
}
