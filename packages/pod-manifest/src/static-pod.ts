import { CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE, type Pod, type Toleration } from '@kubus/contracts';
import { canonicalQuantities } from './canonical-quantities.ts';
import { fillDefaults } from './defaults.ts';
import { type StaticPlace, staticUid } from './static-uid/static-uid.ts';

/** Where a static pod comes from. */
export interface StaticOrigin extends StaticPlace {
  /** RFC 3339: when the node saw it first. */
  readonly seenAt: string;
}

/**
 * The pod as the node runs it: with its defaults, named after its node, in a namespace, with a UID, and bound to the node.
 * A status in a manifest tells of another life and is dropped.
 *
 * @param written the pod as the manifest has it
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

/** A pod of the node's own files stays through every trouble of the node. */
function withNoExecute(tolerations: readonly Toleration[]): Toleration[] {
  const matches = ({ key = '', operator, value = '', effect }: Toleration) =>
    key === '' && operator === 'Exists' && value === '' && effect === 'NoExecute';
  const toleration: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  return [...tolerations.filter((one) => !matches(one)), toleration];
}
