import { randomUUID } from 'node:crypto';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates `file` once. Its name must contain a digest of everything its content depends on, since an existing file is used as it is. `make`
 * writes to a temporary path that is then renamed, so that other processes never see an incomplete file.
 */
export async function cacheFile(file: string, make: (partial: string) => Promise<void>): Promise<string> {
  if (await exists(file)) {
    return file;
  }
  await mkdir(dirname(file), { recursive: true });
  const partial = `${file}.${randomUUID()}`;
  try {
    await make(partial);
    await rename(partial, file);
  } finally {
    await rm(partial, { force: true });
  }
  return file;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
