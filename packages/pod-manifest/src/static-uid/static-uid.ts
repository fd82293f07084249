import type { Pod } from '@kubus/contracts';
import { fnv128a } from '../fnv.ts';
import { printPod } from './print-pod.ts';

/** Where a static pod is found: what its UID depends on besides its content. */
export interface StaticPlace {
  readonly source: 'file' | 'http';
  /** The file, or the URL. */
  readonly path: string;
  readonly node: string;
}

/**
 * The UID of a static pod whose manifest has none: a hash of what the manifest says and of where it was found, so it changes if
 * and only if the content does; a changed manifest is a new pod. It is the one that the reference kubelet 1.36 gives the pod, so
 * that either goes on with the pods of the other. What counts is therefore what the reference holds in memory, in its names and
 * order: a version with another field in any part of the pod gives every pod another UID, as with the reference itself.
 *
 * Two manifests have UIDs of their own making: those with a time in `metadata` or `status`, since the reference hashes the machine's
 * time zone with it, and those that leave requests of the pod as a whole to be summed up.
 * Source: applyDefaults of k8s.io/kubernetes/pkg/kubelet/config/common.go.
 *
 * @param pod with its defaults, its quantities as they were written
 */
export function staticUid(pod: Pod, { source, path, node }: StaticPlace): string {
  const place = source === 'file' ? `host:${node}file:${path}` : `url:${path}`;
  return fnv128a(printPod(pod) + place);
}
