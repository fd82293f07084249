import { CONFIG_MIRROR, type ClusterNode, type Pod } from '@kubus/contracts';

/** UID of the static pod of which a pod of the API server is the copy; undefined for any other pod. */
export function mirrorOf({ metadata }: Pick<Pod, 'metadata'>): string | undefined {
  return metadata.annotations?.[CONFIG_MIRROR];
}

export function isMirror(pod: Pick<Pod, 'metadata'>): boolean {
  return mirrorOf(pod) !== undefined;
}

/** What is known of one namespace and name. */
export interface MirrorView {
  /** The pod of that name that the API server has. */
  readonly api: Pod | undefined;
  /** The static pod of that name that the node is to run now; one that waits for the end of an older one is not it yet. */
  readonly current: Pod | undefined;
  /** A source of static pods wants one of that name, or one still ends, or that is not known yet. */
  readonly claimed: boolean;
  /** The Node object; undefined when there is none, or none is known. */
  readonly node: ClusterNode | undefined;
}

/** `remove`: at once, with the UID as the precondition. `create`: the copy. */
export type MirrorStep = { readonly kind: 'remove' } | { readonly kind: 'create'; readonly pod: NewPod };

/**
 * What to do next so that the API server has the copy of a static pod, of the present one, and of none that is gone (kubelet
 * behaviour 1.1, mirror pods); undefined when all is well.
 */
export function mirrorStep({ api, current, claimed, node }: MirrorView): MirrorStep | undefined {
  if (api === undefined) {
    if (current === undefined || node === undefined || node.deleting) return undefined;
    return { kind: 'create', pod: mirrorPod(current, node) };
  }
  const hash = mirrorOf(api);
  // Another pod has the name.
  if (hash === undefined) return undefined;
  // It was removed at once, and a finalizer still holds it.
  if (typeof api.metadata.deletionTimestamp === 'string' && api.metadata.deletionGracePeriodSeconds === 0)
    return undefined;
  if (current === undefined) return claimed ? undefined : { kind: 'remove' };
  const stale = hash !== current.metadata.uid || typeof api.metadata.deletionTimestamp === 'string';
  return stale ? { kind: 'remove' } : undefined;
}

/** A pod that does not exist yet: the API server gives it its UID. */
export interface NewPod extends Pick<Pod, 'apiVersion' | 'kind' | 'spec'> {
  readonly metadata: Omit<Pod['metadata'], 'uid'>;
}

/**
 * The copy of a static pod as the API server is asked to make it. It belongs to the Node object, which the admission of
 * mirror pods demands (KEP-1314) and which has it removed with the node.
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
