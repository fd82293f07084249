import { compileStatic } from '@kubus/node-images';
import { copyFile, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NodeDir } from './node-dir.ts';

const shimSource = fileURLToPath(new URL('../../cni/shim/kubus-cni.c', import.meta.url));
const relaySource = fileURLToPath(new URL('../../cri/relay/relay.c', import.meta.url));

/** The name by which the shim finds cni-bridge's socket, beside itself. */
const SOCKET_LINK = 'kubus-cni.sock';

export interface Natives {
  /** The holding relay between cri-bridge and the runtime. */
  readonly relay: string;
}

/** Compiles the two native programs; a second time this only looks whether they are there. */
export async function compileNatives(cache: string): Promise<{ shim: string; relay: string }> {
  const [shim, relay] = await Promise.all([compileStatic(shimSource, cache), compileStatic(relaySource, cache)]);
  return { shim, relay };
}

/**
 * Compiles the native programs and installs the CNI shim under both names that a runtime calls,
 * with the link to cni-bridge's socket.
 */
export async function installNatives(dir: NodeDir, cache: string): Promise<Natives> {
  const { shim, relay } = await compileNatives(cache);
  for (const name of ['kubus-cni', 'loopback']) await replaceFile(shim, join(dir.cni.bin, name));
  const link = join(dir.cni.bin, SOCKET_LINK);
  await rm(link, { force: true });
  await symlink(dir.socket('cni'), link);
  return { relay };
}

/** By a rename: a program that is running can not be written over. */
async function replaceFile(from: string, to: string): Promise<void> {
  const part = `${to}.new`;
  await copyFile(from, part);
  await rename(part, to);
}
