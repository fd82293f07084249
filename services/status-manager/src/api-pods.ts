import type { Cause } from '@kubus/bus';
import { type Pod, type PodRef, podRefOf } from '@kubus/contracts';
import { compareVersions } from '@kubus/status-patch';

/** A pod as the API server has it. */
export interface ApiPod {
  readonly pod: Pod;
  /** The message that brought it; none for what the API server has answered. */
  readonly causes: readonly Cause[];
}

interface Entry {
  readonly ref: PodRef;
  heard?: ApiPod;
  answered?: ApiPod;
  removed: boolean;
}

/** Under which name the API server has a pod: of pods of one name there is one at a time. */
export function nameOf({ namespace, name }: Pick<PodRef, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/**
 * The pods of the node that the API server has, by name. What it answers to a write is known before the watch tells of it,
 * so the newer of both counts.
 */
export class ApiPods {
  readonly #byName = new Map<string, Map<string, Entry>>();

  /** The watch has told of it. */
  heard(pod: Pod, cause: Cause): void {
    const entry = this.#entry(podRefOf(pod));
    entry.heard = { pod, causes: [cause] };
    if (newer(entry.heard, entry.answered) === entry.heard) delete entry.answered;
  }

  /** The watch has told that it is gone. */
  gone(ref: PodRef): void {
    const name = nameOf(ref);
    const entries = this.#byName.get(name);
    entries?.delete(ref.uid);
    if (entries?.size === 0) this.#byName.delete(name);
  }

  /** The API server has answered with it. */
  answered(pod: Pod): void {
    const entry = this.#entry(podRefOf(pod));
    const answer = { pod, causes: [] };
    if (newer(entry.heard, answer) === answer) entry.answered = answer;
  }

  /** The API server has said that it is gone; the watch has yet to tell of it. */
  removed(ref: PodRef): void {
    this.#entry(ref).removed = true;
  }

  /** Forgets a pod that only an answer has told of. */
  forgetUnheard(ref: PodRef): void {
    if (this.#byName.get(nameOf(ref))?.get(ref.uid)?.heard === undefined) this.gone(ref);
  }

  /** Names of all pods. */
  get names(): string[] {
    return [...this.#byName.keys()];
  }

  /** The pod of that name that is there now. */
  at(name: string): ApiPod | undefined {
    let last: ApiPod | undefined;
    for (const { heard, answered, removed } of this.#byName.get(name)?.values() ?? []) {
      if (!removed) last = newer(last, newer(heard, answered));
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
