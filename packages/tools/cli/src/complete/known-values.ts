import { apiSocket, instancesOf, nodeDir, nodeNames, readShape, servicesOf } from '@kubus/launcher';
import { NodeClient } from '@kubus/node-client';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { podListSchema } from '../pods/api-pods.ts';
import type { Known } from './candidates.ts';

/** How long a node may take to list its pods, in milliseconds: a completion that is late is in the way. */
const ANSWER_MS = 1_000;
/** The most values that are offered. */
const MOST = 1_000;

const metadataSchema = z.object({ metadata: z.object({ name: z.string(), namespace: z.string().default('default') }) });

/** The values of a kind that the machine or the node has now; none when the node cannot be asked. */
export async function knownValues(known: Known, node: string): Promise<readonly string[]> {
  const values = await valuesOf(known, node).catch(() => []);
  return values.slice(0, MOST);
}

async function valuesOf(known: Known, node: string): Promise<readonly string[]> {
  switch (known) {
    case 'nodes':
      return nodeNames();
    case 'services':
      return servicesHere(node);
    case 'pods':
      return (await podsOf(node)).map(({ name }) => name);
    case 'namespaces':
      return [...new Set((await podsOf(node)).map(({ namespace }) => namespace))].sort();
  }
}

/** The services of a node, and their instances where there are several. */
async function servicesHere(node: string): Promise<readonly string[]> {
  const shape = await readShape(nodeDir(node));
  return servicesOf(shape ?? {}).flatMap((service) => {
    const all = instancesOf(service, shape?.instances ?? {});
    return all.length > 1 ? [service, ...all] : [service];
  });
}

async function podsOf(node: string): Promise<{ name: string; namespace: string }[]> {
  const asked = new NodeClient(apiSocket(nodeDir(node))).get('/pods').catch(() => undefined);
  const text = await Promise.race([asked, wait(ANSWER_MS, undefined, { ref: false })]);
  if (text === undefined) return [];
  return podListSchema.parse(JSON.parse(text)).items.map((item) => metadataSchema.parse(item).metadata);
}
