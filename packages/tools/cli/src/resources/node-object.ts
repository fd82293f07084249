import type { ClusterNode, NetworkCondition, NodePressure, RuntimeCondition } from '@kubus/contracts';
import {
  DECLARED_FEATURES,
  type MachineInfo,
  type NodeObject,
  initialNode,
  nodeVersion,
  readinessProblems,
  withStatus,
} from '@kubus/node-status';
import type { NodeConfig } from '@kubus/service-kit';

/** What a Node object is made of. */
export interface NodeParts {
  readonly config: Pick<NodeConfig, 'node' | 'nodeIps' | 'labels' | 'taints' | 'reserved'>;
  readonly hostname: string;
  readonly machine: MachineInfo;
  /** Of Kubus. */
  readonly version: string;
  /** Quantities by resource. */
  readonly capacity: Readonly<Record<string, string>>;
  readonly runtime: RuntimeCondition | undefined;
  readonly network: NetworkCondition | undefined;
  readonly pressure: NodePressure | undefined;
  /** The Node object of the API server, where the node is a member of a cluster. */
  readonly cluster: ClusterNode | undefined;
  /** When the node was created, and now; milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly now: number;
}

/**
 * The node as the Kubernetes API would show it. A private node has no Node object: this one is made as that of a member of a cluster is, from
 * the same values; in a cluster, labels, taints, addresses and resources are those of the API server.
 */
export function nodeObject(parts: NodeParts): NodeObject & { apiVersion: string; kind: string } {
  const { config, hostname, machine, version, capacity, runtime, network, pressure, cluster, createdAt, now } = parts;
  const isShort = (condition: NodePressure['conditions'][number]) => pressure?.conditions.includes(condition) === true;
  const time = new Date(now).toISOString();
  const initial = initialNode(
    { name: config.node, hostname, architecture: machine.architecture },
    {
      ...{ labels: config.labels, taints: config.taints, providerId: '', externalCloud: false },
      ...{ controllerAttachDetach: false, schedulable: cluster?.unschedulable !== true },
    },
  );
  const addresses = cluster?.addresses ?? [
    ...config.nodeIps.map((address) => ({ type: 'InternalIP', address })),
    { type: 'Hostname', address: hostname },
  ];
  const { node } = withStatus(initial, {
    machine,
    version: nodeVersion(version),
    capacity,
    reserved: config.reserved,
    devices: { capacity: {}, allocatable: {} },
    addresses,
    annotations: {},
    port: undefined,
    runtime,
    images: undefined,
    maxImages: -1,
    csi: { plugins: [], complete: false },
    volumesInUse: undefined,
    declaredFeatures: DECLARED_FEATURES,
    pressure: { memory: isShort('MemoryPressure'), disk: isShort('DiskPressure'), pid: isShort('PIDPressure') },
    problems: readinessProblems({ condition: runtime, awaySince: undefined, network }, now),
    now: time,
  });
  const { labels, annotations, taints, podCIDRs, uid, resourceVersion } = cluster ?? {};
  return {
    ...node,
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      ...node.metadata,
      name: config.node,
      uid: uid ?? config.node,
      resourceVersion: resourceVersion ?? '',
      creationTimestamp: new Date(createdAt).toISOString(),
      labels: labels ?? node.metadata.labels ?? {},
      ...(annotations !== undefined && { annotations }),
    },
    spec: { ...node.spec, ...(taints !== undefined && { taints }), ...(podCIDRs !== undefined && { podCIDRs }) },
    status: {
      ...node.status,
      ...(cluster !== undefined && { capacity: cluster.capacity, allocatable: cluster.allocatable }),
    },
  };
}
