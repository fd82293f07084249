import { clusterNode, networkCondition, nodePressure, runtimeCondition } from '@kubus/contracts';
import { nodeConfigFile } from '@kubus/launcher';
import type { NodeObject } from '@kubus/node-status';
import { formatAge } from '@kubus/pod';
import { nodeCapacity, readMachine, readNodeConfig, version } from '@kubus/service-kit';
import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import type { NodeLink } from '../node/node-link.ts';
import { nodeObject } from './node-object.ts';
import type { ApiObject, Item, ResourceType } from './resource-type.ts';

export const nodes: ResourceType = {
  name: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  apiVersion: 'v1',
  kind: 'Node',
  isNamespaced: false,
  about: 'the node itself; "kubus ls" lists all nodes of the machine',
  columns: [
    { title: 'NAME', isName: true },
    { title: 'STATUS' },
    { title: 'ROLES' },
    { title: 'AGE', isAge: true },
    { title: 'VERSION' },
    { title: 'INTERNAL-IP', isWide: true },
    { title: 'EXTERNAL-IP', isWide: true },
    { title: 'OS-IMAGE', isWide: true },
    { title: 'KERNEL-VERSION', isWide: true },
    { title: 'CONTAINER-RUNTIME', isWide: true },
  ],
  fields: ['metadata.name', 'spec.unschedulable'],
  open: async (link, onChange) => {
    const read = await followNode(link, () => onChange(link.bus.node));
    return { items: () => [nodeItem(read())] };
  },
};

/** A function that returns the node as it is at the time of the call. */
export async function followNode(
  link: NodeLink,
  onChange: () => void = () => undefined,
): Promise<() => NodeObject & ApiObject> {
  const { dir } = link;
  const handlers = { changed: onChange, removed: onChange };
  const { config } = readNodeConfig(nodeConfigFile(dir));
  const [runtimes, networks, pressures, clusterNodes] = await Promise.all([
    link.facts(runtimeCondition, handlers),
    link.facts(networkCondition, handlers),
    link.facts(nodePressure, handlers),
    // Only the node-agent of a member of a cluster publishes it.
    config.apiServer === undefined ? [] : link.facts(clusterNode, handlers),
  ]);
  const machine = readMachine();
  const capacity = nodeCapacity(config);
  const { birthtimeMs, ctimeMs } = statSync(dir.root);
  const createdAt = birthtimeMs > 0 ? birthtimeMs : ctimeMs;
  const first = <T>(all: Iterable<{ readonly value: T }>) => [...all][0]?.value;
  return () =>
    nodeObject({
      ...{ config, machine, version, capacity, createdAt, hostname: hostname(), now: Date.now() },
      runtime: first(runtimes),
      network: first(networks),
      pressure: first(pressures),
      cluster: first(clusterNodes),
    });
}

/** A node with kubectl's cells (pkg/printers/internalversion/printers.go, printNode). */
export function nodeItem(object: NodeObject & ApiObject): Item {
  const { metadata, status } = object;
  const info = (field: string) => (status.nodeInfo?.[field] as string | undefined) ?? '';
  const known = (text: string) => text || '<unknown>';
  const created = metadata['creationTimestamp'];
  const architecture = info('architecture');
  return {
    key: metadata.name,
    object,
    cells: (now) => [
      metadata.name,
      statusOf(object),
      rolesOf(object).join(',') || '<none>',
      typeof created === 'string' ? formatAge(now - Date.parse(created)) : '<unknown>',
      info('kubeletVersion'),
      addressOf(object, 'InternalIP'),
      addressOf(object, 'ExternalIP'),
      known(info('osImage')),
      known(info('kernelVersion')) + (architecture === '' ? '' : ` (${architecture})`),
      known(info('containerRuntimeVersion')),
    ],
  };
}

function statusOf({ spec, status }: NodeObject): string {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const word = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

/** The roles that its labels give a node, sorted (printers.go, findNodeRoles). */
export function rolesOf({ metadata }: Pick<NodeObject, 'metadata'>): string[] {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith('node-role.kubernetes.io/')) return [key.slice('node-role.kubernetes.io/'.length)];
    return key === 'kubernetes.io/role' ? [value] : [];
  });
  return [...new Set(roles.filter((role) => role !== ''))].sort();
}

function addressOf({ status }: NodeObject, wanted: string): string {
  return status.addresses?.find(({ type }) => type === wanted)?.address ?? '<none>';
}
