/** How a strategic merge patch treats a field: what is within, and for a list how its items are distinguished. */
export interface MergeRule {
  readonly fields?: Readonly<Record<string, MergeRule>>;
  /** The field by which the items of a list are distinguished; empty for a list of plain values that are united. */
  readonly key?: string;
}

const merged = (key: string, fields: MergeRule['fields'] = {}): MergeRule => ({ key, fields });
const united: MergeRule = { key: '' };

const metadata: MergeRule = { fields: { ownerReferences: merged('uid'), finalizers: united } };

const container: MergeRule['fields'] = {
  ports: merged('containerPort'),
  env: merged('name'),
  volumeMounts: merged('mountPath'),
  volumeDevices: merged('devicePath'),
};

const conditions = merged('type');

/**
 * The lists that a strategic merge patch merges, by kind; all others are replaced as a whole, such as a pod's container
 * statuses and tolerations and a node's taints. Source: the patchStrategy and patchMergeKey tags of k8s.io/api v1.36.
 */
const rules: Readonly<Record<string, MergeRule>> = {
  Pod: {
    fields: {
      metadata,
      spec: {
        fields: {
          volumes: merged('name'),
          initContainers: merged('name', container),
          containers: merged('name', container),
          ephemeralContainers: merged('name', container),
          imagePullSecrets: merged('name'),
          hostAliases: merged('ip'),
          topologySpreadConstraints: merged('topologyKey'),
          schedulingGates: merged('name'),
          resourceClaims: merged('name'),
        },
      },
      status: {
        fields: {
          conditions,
          hostIPs: merged('ip'),
          podIPs: merged('ip'),
          resourceClaimStatuses: merged('name'),
        },
      },
    },
  },
  Node: {
    fields: {
      metadata,
      spec: { fields: { podCIDRs: united } },
      status: { fields: { conditions, addresses: merged('type') } },
    },
  },
  Service: {
    fields: { metadata, spec: { fields: { ports: merged('port') } }, status: { fields: { conditions } } },
  },
  ServiceAccount: { fields: { metadata, secrets: merged('name') } },
  PersistentVolumeClaim: { fields: { metadata, status: { fields: { conditions } } } },
  CSINode: { fields: { metadata, spec: { fields: { drivers: merged('name') } } } },
  Namespace: { fields: { metadata, status: { fields: { conditions } } } },
};

export function mergeRule(kind: string): MergeRule {
  return rules[kind] ?? { fields: { metadata } };
}
