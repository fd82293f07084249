import { randomUUID } from 'node:crypto';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes `file` once. Its name must say all that its content depends on: a file that is there is taken as it is.
 * `make` writes to a path beside it that then takes the name, so readers, and other processes that make the same file,
 * only ever see it whole.
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
