import { CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE, type Pod, type Toleration } from '@kubus/contracts';
import { canonicalJson } from './canonical-json.ts';
import { fnv128a } from './fnv.ts';

/** Where a static pod comes from. */
export interface StaticOrigin {
  readonly source: 'file' | 'http';
  /** The file, or the URL. */
  readonly path: string;
  readonly node: string;
  /** RFC 3339: when the node saw it first. */
  readonly seenAt: string;
}

/**
 * The pod as the node runs it: named after its node, in a namespace, with a UID, and bound to the node.
 *
 * The UID, unless the manifest has one, is a hash of what the manifest says and of where it was found, so it changes if
 * and only if the content does; a changed manifest is a new pod. The reference hashes its in-memory form of the pod
 * instead, so its UIDs are of the same shape and other values. A status in a manifest tells of another life and is
 * dropped.
 *
 * @param content the pod as it was written, before any default
 */
export function staticPod(pod: Pod, content: unknown, origin: StaticOrigin): Pod {
  const { metadata, spec } = pod;
  const place = origin.source === 'file' ? `host:${origin.node}file:${origin.path}` : `url:${origin.path}`;
  const uid = metadata.uid === '' ? fnv128a(canonicalJson(content) + place) : metadata.uid;
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
