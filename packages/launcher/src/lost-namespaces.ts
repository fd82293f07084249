import { rm } from 'node:fs/promises';
import { callCriOnce } from '@kubus/node-images';
import * as z from 'zod';
import { runCommand } from './command.ts';
import { mountsUnder } from './mounts.ts';
import type { NodeDir } from './node-dir.ts';

/** gRPC's code for a sandbox that has been removed since it was listed. */
const NOT_FOUND = 5;

/** What the verbose status of a sandbox tells of its namespaces, as JSON (containerd 1.6 to 2.1). */
const sandboxInfo = z.object({
  runtimeSpec: z.object({
    linux: z.object({ namespaces: z.array(z.object({ type: z.string(), path: z.string().optional() })) }),
  }),
});

/** The files on which containerd has mounted its pods' network namespaces. */
export async function podNamespaces({ containerd }: Pick<NodeDir, 'containerd'>): Promise<string[]> {
  const mounts = await mountsUnder(containerd.state);
  return mounts.filter(({ type }) => type === 'nsfs').map(({ target }) => target);
}

/**
 * Removes those of the network namespaces `before` that no sandbox has. containerd makes a sandbox's namespace first and
 * writes the sandbox down later: one that is killed in between never hears of the namespace again.
 *
 * @param before {@link podNamespaces} from when no containerd ran: what it makes from now on is its own business.
 * @returns what was removed.
 * @throws what gRPC reports; ZodError when a sandbox does not tell of its namespaces, and nothing is removed.
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
    await runCommand(['umount', '--', file]);
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
