import { type Pod, podSchema } from '@kubus/contracts';
import type { NodeClient } from '@kubus/node-client';
import * as z from 'zod';
import { isMeant, notFound } from './pods.ts';

const listSchema = z.object({ items: z.array(z.record(z.string(), z.unknown())) });

/** The pods of the node by its API, with their present status. */
async function readPods(client: NodeClient): Promise<Pod[]> {
  const { items } = listSchema.parse(JSON.parse(await client.get('/pods')));
  return items.map((item) => podSchema.parse({ apiVersion: 'v1', kind: 'Pod', ...item }));
}

/** The pod that `name` means in a namespace, see {@link isMeant}. Throws a {@link UserError} as kubectl words it. */
export async function findPod(client: NodeClient, name: string, namespace: string): Promise<Pod> {
  const found = (await readPods(client))
    .filter(({ metadata }) => metadata.namespace === namespace)
    .find(({ metadata, spec }) => isMeant(name, metadata, spec.nodeName ?? ''));
  if (found === undefined) throw notFound(name, namespace);
  return found;
}
