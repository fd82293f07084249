import type { CsiPlugin } from '@kubus/contracts';
import * as z from 'zod';
import { type KnownPlugins, usablePlugins } from './csi-plugins.ts';
import type { NodeObject } from './node-object.ts';

const driverSchema = z.looseObject({
  name: z.string(),
  nodeID: z.string(),
  topologyKeys: z.array(z.string()).nullish(),
  allocatable: z.looseObject({ count: z.int().optional() }).nullish(),
});
type CsiNodeDriver = z.infer<typeof driverSchema>;

const ownerSchema = z.looseObject({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() });

/** A CSINode as returned by the API server: the CSI drivers of the node as known to the cluster. Fields not listed here are kept. */
export const csiNodeSchema = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string().optional(),
    ownerReferences: z.array(ownerSchema).optional(),
  }),
  spec: z.looseObject({ drivers: z.array(driverSchema).nullable() }),
});
export type CsiNode = z.infer<typeof csiNodeSchema>;

/** The CSINode of the Node. It is removed with the Node. */
export function newCsiNode({ metadata }: Pick<NodeObject, 'metadata'>, known: KnownPlugins): CsiNode {
  const { name, uid, labels = {} } = metadata;
  const owner = { apiVersion: 'v1', kind: 'Node', name, uid };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name, ownerReferences: [owner] },
    spec: { drivers: usablePlugins(labels, known.plugins).map(driverOf) },
  };
}

/** Whether the CSINode belongs to this Node object, and not to an earlier one with the same name. */
export function belongsTo({ metadata }: CsiNode, { uid }: NodeObject['metadata']): boolean {
  return metadata.ownerReferences?.some((owner) => owner.kind === 'Node' && owner.uid === uid) ?? false;
}

/**
 * The writes, in order, that update the CSINode to match the drivers; empty when it already does. In a driver's entry
 * the API server allows only the number of volumes to change, so an entry with other differences is removed first.
 */
export function csiNodeWrites(before: CsiNode, { metadata }: NodeObject, known: KnownPlugins): readonly CsiNode[] {
  const old = before.spec.drivers ?? [];
  const wanted = usablePlugins(metadata.labels ?? {}, known.plugins).map(driverOf);
  const kept = known.complete ? [] : old.filter(({ name }) => wanted.every((one) => one.name !== name));
  const all = [...kept, ...wanted];
  if (old.length === all.length && all.every((one) => old.some((other) => isSame(one, other)))) return [];
  const replaced = old.filter((one) =>
    all.some((other) => one.name === other.name && identity(one) !== identity(other)),
  );
  const without = old.filter((one) => !replaced.includes(one));
  const writes = replaced.length === 0 ? [all] : [without, all];
  return writes.map((drivers) => ({ ...before, spec: { ...before.spec, drivers } }));
}

const MOST = 2 ** 31 - 1;

function driverOf({ driver, nodeId, maxVolumes = 0, topology }: CsiPlugin): CsiNodeDriver {
  return {
    name: driver,
    nodeID: nodeId,
    topologyKeys: Object.keys(topology).sort(),
    ...(maxVolumes > 0 && { allocatable: { count: Math.min(maxVolumes, MOST) } }),
  };
}

function identity({ name, nodeID, topologyKeys }: CsiNodeDriver): string {
  return JSON.stringify([name, nodeID, [...(topologyKeys ?? [])].sort()]);
}

function isSame(one: CsiNodeDriver, other: CsiNodeDriver): boolean {
  return identity(one) === identity(other) && one.allocatable?.count === other.allocatable?.count;
}
