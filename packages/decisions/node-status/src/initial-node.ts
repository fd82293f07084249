import type { Taint } from '@kubus/contracts';
import type { NodeObject } from './node-object.ts';

/** The annotation of a node whose volumes the cluster's controller attaches. */
export const CONTROLLER_ATTACHES = 'volumes.kubernetes.io/controller-managed-attach-detach';

/** The taint of a node that waits for its cloud controller. */
const UNINITIALIZED: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};

export interface NodeIdentity {
  readonly name: string;
  readonly hostname: string;
  /** The name in Go: `amd64`, `arm64`. */
  readonly architecture: string;
}

export interface InitialSettings {
  /** --node-labels */
  readonly labels: Readonly<Record<string, string>>;
  /** registerWithTaints */
  readonly taints: readonly Taint[];
  readonly providerId: string;
  readonly externalCloud: boolean;
  readonly controllerAttachDetach: boolean;
  /** registerSchedulable */
  readonly schedulable: boolean;
}

/** Labels that a node always has. */
export function defaultLabels({ hostname, architecture }: Omit<NodeIdentity, 'name'>): Record<string, string> {
  return {
    'kubernetes.io/hostname': hostname,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': architecture,
  };
}

/** The Node object that is created where none exists, without its status (behaviour:node-object, Initial object). */
export function initialNode(identity: NodeIdentity, settings: InitialSettings): NodeObject {
  const { labels, taints, providerId, externalCloud, controllerAttachDetach, schedulable } = settings;
  const allTaints = [...taints, ...(externalCloud ? [UNINITIALIZED] : [])];
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: {
      name: identity.name,
      uid: '',
      resourceVersion: '',
      labels: { ...defaultLabels(identity), ...labels },
      ...(controllerAttachDetach && { annotations: { [CONTROLLER_ATTACHES]: 'true' } }),
    },
    spec: {
      ...(providerId !== '' && { providerID: providerId }),
      ...(allTaints.length > 0 && { taints: allTaints }),
      ...(!schedulable && { unschedulable: true }),
    },
    status: {},
  };
}
