import { KubeError, type KubeRequester, kubePath } from '@kubus/kube';
import { type Clock, sleep } from '@kubus/ports';
import * as z from 'zod';

/** How often the DaemonSet is looked at, in milliseconds. */
const AGAIN_MS = 1_000;

/** A DaemonSet whose pods are ready once `kubus uninstall` has removed the node of their machine. */
export interface Removal {
  readonly namespace: string;
  readonly daemonSet: string;
  /** What the names of the nodes have beyond those of their machines. */
  readonly nameSuffix: string;
}

const daemonSetSchema = z.object({
  metadata: z.object({ generation: z.number() }),
  spec: z.object({ selector: z.object({ matchLabels: z.record(z.string(), z.string()) }) }),
  status: z.object({
    observedGeneration: z.number().optional(),
    desiredNumberScheduled: z.number(),
    numberReady: z.number(),
  }),
});
const podsSchema = z.object({ items: z.array(z.object({ spec: z.object({ nodeName: z.string().optional() }) })) });
const nodeSchema = z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()).default({}) }) });

/**
 * Waits until the pods of the DaemonSet are ready on all of its machines, and then deletes the Node objects of the nodes that were there: those
 * with the label `kubus.dev/guest`, never a Node object of another agent.
 *
 * @returns the names of the deleted Node objects
 * @throws KubeError for a refused request
 */
export async function removeNodes(client: KubeRequester, clock: Clock, removal: Removal): Promise<string[]> {
  const { namespace, nameSuffix } = removal;
  const labels = await whenDone(client, clock, removal);
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  const pods = { version: 'v1', namespace, resource: 'pods' };
  const { items } = podsSchema.parse(
    await client.request({ method: 'GET', path: kubePath(pods), query: { labelSelector } }),
  );
  const machines = new Set(items.flatMap(({ spec }) => spec.nodeName ?? []));
  const deleted: string[] = [];
  for (const name of [...machines].map((machine) => `${machine}${nameSuffix}`)) {
    const path = kubePath({ version: 'v1', resource: 'nodes', name });
    const node = await unlessMissing(client.request({ method: 'GET', path }));
    if (node === undefined || nodeSchema.parse(node).metadata.labels['kubus.dev/guest'] !== 'true') continue;
    await unlessMissing(client.request({ method: 'DELETE', path }));
    deleted.push(name);
  }
  return deleted;
}

/** The labels of the pods of a DaemonSet that is done. */
async function whenDone(
  client: KubeRequester,
  clock: Clock,
  { namespace, daemonSet }: Removal,
): Promise<Record<string, string>> {
  const path = kubePath({ group: 'apps', version: 'v1', namespace, resource: 'daemonsets', name: daemonSet });
  for (;;) {
    const { metadata, spec, status } = daemonSetSchema.parse(await client.request({ method: 'GET', path }));
    const isCounted = (status.observedGeneration ?? 0) >= metadata.generation;
    if (isCounted && status.numberReady >= status.desiredNumberScheduled) return spec.selector.matchLabels;
    await sleep(clock, AGAIN_MS);
  }
}

async function unlessMissing(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof KubeError && error.reason === 'NotFound') return undefined;
    throw error;
  }
}
