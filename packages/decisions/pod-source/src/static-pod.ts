import { CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE, type Pod, type Toleration } from '@kubus/contracts';
import { canonicalQuantities } from './defaults/canonical-quantities.ts';
import { fillDefaults } from './defaults/defaults.ts';
import { type StaticPlace, staticUid } from './static-uid/static-uid.ts';

/** The origin of a static pod. */
export interface StaticOrigin extends StaticPlace {
  /** When the node first saw it, as RFC 3339. */
  readonly seenAt: string;
}

/**
 * The pod as it runs on the node: with defaults, a name that ends with the node's, a namespace, a UID, and bound to the node.
 * A status in a manifest belongs to an earlier run of the pod and is dropped.
 *
 * @param written the pod as in the manifest
 */
export function staticPod(written: Pod, origin: StaticOrigin): Pod {
  const filled = fillDefaults(written);
  const pod = canonicalQuantities(filled);
  const { metadata, spec } = pod;
  const uid = metadata.uid === '' ? staticUid(filled, origin) : metadata.uid;
  return {
    ...pod,
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      uid,
      name: metadata.name === '' ? '' : `${metadata.name}-${origin.node.toLowerCase()}`,
      namespace: metadata.namespace === '' ? 'default' : metadata.namespace,
      annotations: {
        ...metadata.annotations,
        [CONFIG_HASH]: uid,
        [CONFIG_SOURCE]: origin.source,
        [CONFIG_SEEN]: origin.seenAt,
      },
    },
    spec: {
      ...spec,
      nodeName: origin.node,
      ...(origin.source === 'file' && { tolerations: withNoExecute(spec.tolerations ?? []) }),
    },
    status: { phase: 'Pending' },
  };
}

/** A static pod tolerates every taint of the node that would evict it. */
function withNoExecute(tolerations: readonly Toleration[]): Toleration[] {
  const matches = ({ key = '', operator, value = '', effect }: Toleration) =>
    key === '' && operator === 'Exists' && value === '' && effect === 'NoExecute';
  const toleration: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  return [...tolerations.filter((one) => !matches(one)), toleration];
}
