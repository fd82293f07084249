import { copyFile, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';

/** The names under which a runtime calls the shim: as the plugin of its network, and as its own loopback plugin. */
const NAMES = ['loopback', 'kubus-cni'];

/** Installs the compiled shim into a folder under each of its names. Running shims are not affected. */
export async function installShim(program: string, shimFolder: string): Promise<void> {
  for (const name of NAMES) {
    // A running program cannot be overwritten, but another file can be renamed to its name.
    const unfinished = join(shimFolder, `.${name}.${process.pid}`);
    await copyFile(program, unfinished);
    await rename(unfinished, join(shimFolder, name));
  }
}

/** Creates the symbolic link through which shims in `shimFolder` find the socket, atomically. */
export async function linkShimSocket(shimFolder: string, socketPath: string): Promise<void> {
  const unfinished = join(shimFolder, `.kubus-cni.sock.${process.pid}`);
  await rm(unfinished, { force: true });
  await symlink(socketPath, unfinished);
  await rename(unfinished, join(shimFolder, 'kubus-cni.sock'));
}
