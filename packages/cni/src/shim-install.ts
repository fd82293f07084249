import { copyFile, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';

/** The names under which a runtime calls the shim: as the plugin of its network, and as its own loopback plugin. */
const NAMES = ['loopback', 'kubus-cni'];

/** Puts the compiled shim into a folder under each of its names. A shim that is running there goes on. */
export async function installShim(program: string, shimFolder: string): Promise<void> {
  for (const name of NAMES) {
    // A program that is running cannot be written over, but its name can be given to another file.
    const unfinished = join(shimFolder, `.${name}.${process.pid}`);
    await copyFile(program, unfinished);
    await rename(unfinished, join(shimFolder, name));
  }
}

/** Puts the symlink through which shims in `shimFolder` find the socket, in one step. */
export async function linkShimSocket(shimFolder: string, socketPath: string): Promise<void> {
  const unfinished = join(shimFolder, `.kubus-cni.sock.${process.pid}`);
  await rm(unfinished, { force: true });
  await symlink(socketPath, unfinished);
  await rename(unfinished, join(shimFolder, 'kubus-cni.sock'));
}
