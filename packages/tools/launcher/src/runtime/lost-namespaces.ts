import { rm } from 'node:fs/promises';
import { mountsBelow, unmount } from '@kubus/filesystem';
import { callCriOnce } from '@kubus/node-images';
import * as z from 'zod';
import type { NodeDir } from '../node/node-dir.ts';

/** gRPC's code for a sandbox that has been removed since it was listed. */
const NOT_FOUND = 5;

/** The namespaces in the verbose status of a sandbox, as JSON (containerd 1.6 to 2.1). */
const sandboxInfo = z.object({
  runtimeSpec: z.object({
    linux: z.object({ namespaces: z.array(z.object({ type: z.string(), path: z.string().optional() })) }),
  }),
});

/** The files on which containerd has mounted the network namespaces of its pods. */
export async function podNamespaces({ containerd }: Pick<NodeDir, 'containerd'>): Promise<string[]> {
  const mounts = await mountsBelow(containerd.state);
  return mounts.filter(({ type }) => type === 'nsfs').map(({ target }) => target);
}

/**
 * Removes network namespaces that belong to no sandbox. containerd creates a sandbox's namespace before it stores the sandbox: when it is
 * killed in between, it forgets the namespace.
 *
 * @param before {@link podNamespaces} as read before containerd was started, so that namespaces it creates now are left alone.
 * @returns the removed files.
 * @throws the gRPC error, or a ZodError when the status of a sandbox lacks its namespaces; nothing is removed then.
 */
export async function removeLostNamespaces(socket: string, before: readonly string[]): Promise<string[]> {
  if (before.length === 0) return [];
  const { items = [] } = await callCriOnce(socket, 'ListPodSandbox', {});
  const used = new Set<string>();
  for (const { id = '' } of items) {
    for (const file of await networkNamespaces(socket, id)) used.add(file);
  }
  const lost = before.filter((file) => !used.has(file));
  for (const file of lost) {
    await unmount(file);
    await rm(file);
  }
  return lost;
}

async function networkNamespaces(socket: string, podSandboxId: string): Promise<string[]> {
  try {
    const { info } = await callCriOnce(socket, 'PodSandboxStatus', { podSandboxId, verbose: true });
    const { runtimeSpec } = sandboxInfo.parse(JSON.parse(info?.['info'] ?? '{}'));
    return runtimeSpec.linux.namespaces.flatMap(({ type, path }) =>
      type === 'network' && path !== undefined ? [path] : [],
    );
  } catch (error) {
    if ((error as { code?: unknown }).code === NOT_FOUND) return [];
    throw error;
  }
}
