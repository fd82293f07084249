import type { Cause } from '@kubus/bus';
import { type Pod, type PodRef, podRefOf } from '@kubus/contracts';
import { compareVersions } from '@kubus/pod-status';

/** A pod of the API server. */
export interface ApiPod {
  readonly pod: Pod;
  /** The message that reported it; none for an answer of the API server. */
  readonly causes: readonly Cause[];
}

interface Entry {
  readonly ref: PodRef;
  reported?: ApiPod;
  answered?: ApiPod;
  removed: boolean;
}

/** Key of a pod on the API server, which has one pod per name at a time. */
export function nameOf({ namespace, name }: Pick<PodRef, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/**
 * The node's pods on the API server, by name. The answer to a write arrives before the watch event, so the newer of
 * both is used.
 */
export class ApiPods {
  readonly #byName = new Map<string, Map<string, Entry>>();

  /** The watch reported the pod. */
  reported(pod: Pod, cause: Cause): void {
    const entry = this.#entry(podRefOf(pod));
    entry.reported = { pod, causes: [cause] };
    if (newer(entry.reported, entry.answered) === entry.reported) delete entry.answered;
  }

  /** The watch reported its deletion. */
  deleted(ref: PodRef): void {
    const name = nameOf(ref);
    const entries = this.#byName.get(name);
    entries?.delete(ref.uid);
    if (entries?.size === 0) this.#byName.delete(name);
  }

  /** The API server answered with the pod. */
  answered(pod: Pod): void {
    const entry = this.#entry(podRefOf(pod));
    const answer = { pod, causes: [] };
    if (newer(entry.reported, answer) === answer) entry.answered = answer;
  }

  /** The API server answered that it is deleted; the watch has yet to report it. */
  removed(ref: PodRef): void {
    this.#entry(ref).removed = true;
  }

  /** Forgets a pod that the watch has not reported. */
  forgetUnreported(ref: PodRef): void {
    if (this.#byName.get(nameOf(ref))?.get(ref.uid)?.reported === undefined) this.deleted(ref);
  }

  /** Names of all pods. */
  get names(): string[] {
    return [...this.#byName.keys()];
  }

  /** The existing pod of that name. */
  at(name: string): ApiPod | undefined {
    let last: ApiPod | undefined;
    for (const { reported, answered, removed } of this.#byName.get(name)?.values() ?? []) {
      if (!removed) last = newer(last, newer(reported, answered));
    }
    return last;
  }

  #entry(ref: PodRef): Entry {
    const name = nameOf(ref);
    const entries = this.#byName.get(name) ?? new Map<string, Entry>();
    this.#byName.set(name, entries);
    const entry = entries.get(ref.uid) ?? { ref, removed: false };
    entries.set(ref.uid, entry);
    return entry;
  }
}

/** The newer one of two; the second one of equals. */
function newer(one: ApiPod | undefined, other: ApiPod | undefined): ApiPod | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const versions = [one, other].map(({ pod }) => pod.metadata.resourceVersion);
  return compareVersions(versions[0], versions[1]) > 0 ? one : other;
}
