import { CONFIG_MIRROR, type ClusterNode, type Pod } from '@kubus/contracts';
import { mirrorOf } from '@kubus/pod';

/** What is known about one namespace and name. */
export interface MirrorView {
  /** The pod with that name in the API server. */
  readonly api: Pod | undefined;
  /** The static pod with that name that the node is to run now; not one that is waiting for the end of an older one. */
  readonly current: Pod | undefined;
  /** A source of static pods desires one with that name, or one is still being ended, or that is not known yet. */
  readonly claimed: boolean;
  /** The Node object; undefined when it does not exist or is not known. */
  readonly node: ClusterNode | undefined;
}

/** `remove`: at once, with the UID as a precondition. `create`: the mirror pod. */
export type MirrorStep = { readonly kind: 'remove' } | { readonly kind: 'create'; readonly pod: NewPod };

/**
 * The next step towards a mirror pod in the API server for each existing static pod, and none for removed ones; undefined when
 * nothing has to be done.
 */
export function mirrorStep({ api, current, claimed, node }: MirrorView): MirrorStep | undefined {
  if (api === undefined) {
    if (current === undefined || node === undefined || node.deleting) return undefined;
    return { kind: 'create', pod: mirrorPod(current, node) };
  }
  const hash = mirrorOf(api);
  // The name is used by another pod.
  if (hash === undefined) return undefined;
  // It was deleted, and a finalizer still keeps it.
  if (typeof api.metadata.deletionTimestamp === 'string' && api.metadata.deletionGracePeriodSeconds === 0)
    return undefined;
  if (current === undefined) return claimed ? undefined : { kind: 'remove' };
  const stale = hash !== current.metadata.uid || typeof api.metadata.deletionTimestamp === 'string';
  return stale ? { kind: 'remove' } : undefined;
}

/** A pod that does not exist yet: the API server assigns its UID. */
export interface NewPod extends Pick<Pod, 'apiVersion' | 'kind' | 'spec'> {
  readonly metadata: Omit<Pod['metadata'], 'uid'>;
}

/**
 * The mirror pod of a static pod, in the form in which it is created. It is owned by the Node object, which the admission of
 * mirror pods requires (KEP-1314) and which has it removed with the node.
 */
function mirrorPod({ metadata, spec }: Pod, node: Pick<ClusterNode, 'name' | 'uid'>): NewPod {
  const { namespace, name, uid, labels, annotations } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace,
      name,
      ...(labels !== undefined && { labels }),
      annotations: { ...annotations, [CONFIG_MIRROR]: uid },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid, controller: true }],
    },
    spec,
  };
}
