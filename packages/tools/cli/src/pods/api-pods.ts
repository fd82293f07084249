import { type Pod, podSchema } from '@kubus/contracts';
import type { NodeClient } from '@kubus/node-client';
import * as z from 'zod';
import { matchesName, notFound } from './pods.ts';

/** What of the answer to `/pods` is read. */
export const podListSchema = z.object({ items: z.array(z.record(z.string(), z.unknown())) });

/** The node's pods with their current status, from its API. */
async function readPods(client: NodeClient): Promise<Pod[]> {
  const { items } = podListSchema.parse(JSON.parse(await client.get('/pods')));
  return items.map((item) => podSchema.parse({ apiVersion: 'v1', kind: 'Pod', ...item }));
}

/** The pod with this name in a namespace, see {@link matchesName}. Throws a {@link UserError} in kubectl's words when there is none. */
export async function findPod(client: NodeClient, name: string, namespace: string): Promise<Pod> {
  const found = (await readPods(client))
    .filter(({ metadata }) => metadata.namespace === namespace)
    .find(({ metadata, spec }) => matchesName(name, metadata, spec.nodeName ?? ''));
  if (found === undefined) throw notFound(name, namespace);
  return found;
}
