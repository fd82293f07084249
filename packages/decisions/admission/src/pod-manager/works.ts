import type { PodRef, PodWork } from '@kubus/contracts';

type Name = Pick<PodRef, 'namespace' | 'name'>;

/** The present work of each pod, by UID and by name. */
export class Works {
  readonly #works = new Map<string, PodWork>();
  readonly #names = new Map<string, Set<string>>();

  get(uid: string): PodWork | undefined {
    return this.#works.get(uid);
  }

  has(uid: string): boolean {
    return this.#works.has(uid);
  }

  keys(): Iterable<string> {
    return this.#works.keys();
  }

  /** The works of pods of one namespace and name: static pods whose UIDs differ, one of which ends. */
  named(pod: Name): PodWork[] {
    return [...(this.#names.get(nameOf(pod)) ?? [])].flatMap((uid) => this.#works.get(uid) ?? []);
  }

  /** Undefined: there is nothing to do any more. */
  set(uid: string, work: PodWork | undefined): void {
    const before = this.#works.get(uid);
    if (before !== undefined) this.#forget(uid, before.ref);
    if (work === undefined) {
      this.#works.delete(uid);
      return;
    }
    this.#works.set(uid, work);
    const name = nameOf(work.ref);
    this.#names.set(name, (this.#names.get(name) ?? new Set()).add(uid));
  }

  #forget(uid: string, ref: Name): void {
    const name = nameOf(ref);
    const uids = this.#names.get(name);
    uids?.delete(uid);
    if (uids?.size === 0) this.#names.delete(name);
  }
}

function nameOf({ namespace, name }: Name): string {
  return `${namespace}/${name}`;
}
