import type { Pod } from '@kubus/contracts';
import { fnv128a } from '@kubus/pod';
import { printPod } from './print-pod.ts';

/** Where a static pod was found. Its UID depends on this and on its content. */
export interface StaticPlace {
  readonly source: 'file' | 'http';
  /** The file, or the URL. */
  readonly path: string;
  readonly node: string;
}

/**
 * The UID of a static pod whose manifest does not set one: a hash of the manifest's content and of its origin. It changes if
 * and only if the content does; a changed manifest is a new pod. It equals the UID that the reference kubelet 1.36 assigns, so that
 * each can continue with the pods of the other. The hash therefore covers the reference's in-memory form, with its field names and
 * order: a version with an additional field in any part of the pod changes the UID of every pod, as in the reference itself.
 *
 * Two kinds of manifests get UIDs that differ from the reference's: those with a time in `metadata` or `status`, since the reference
 * hashes the machine's time zone with it, and those whose pod-level requests have to be summed up from the containers.
 * Source: applyDefaults of k8s.io/kubernetes/pkg/kubelet/config/common.go.
 *
 * @param pod with its defaults, and with quantities as written
 */
export function staticUid(pod: Pod, { source, path, node }: StaticPlace): string {
  const place = source === 'file' ? `host:${node}file:${path}` : `url:${path}`;
  return fnv128a(printPod(pod) + place);
}
