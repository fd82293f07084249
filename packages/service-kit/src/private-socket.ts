import { once } from 'node:events';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { dirname, join } from 'node:path';

/** Has a server listen on a unix socket that the node's own user alone may open, in the place of one that an earlier life left. */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  // A socket is made with the rights that the umask leaves: until it has its own, its folder keeps others out.
  const folder = `${path}.new`;
  const made = join(folder, 's');
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  server.listen(made);
  await once(server, 'listening');
  await chmod(made, 0o600);
  await rename(made, path);
  await rm(folder, { recursive: true });
}
