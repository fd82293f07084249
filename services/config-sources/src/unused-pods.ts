import type { PodRef, UnusedPod } from '@kubus/contracts';

/** The reason of the events about pods of manifests that are not run. */
const REASON = 'DuplicatePod';

/** How many manifests an event names. */
const SHOWN_PATHS = 3;

/** A Kubernetes event about the pod that is run instead of others. */
interface DuplicateEvent {
  readonly ref: PodRef;
  readonly type: 'Warning' | 'Normal';
  readonly reason: string;
  readonly message: string;
}

/** The pods of all manifests that are not run, since other pods have their names or UIDs. */
export class UnusedPods {
  readonly #byPath = new Map<string, readonly UnusedPod[]>();

  /**
   * Those of one manifest.
   *
   * @returns an event for each pod that is run and of which that manifest has begun or ceased to have another.
   */
  set(path: string, unused: readonly UnusedPod[]): DuplicateEvent[] {
    const had = byWinner(this.#byPath.get(path) ?? []);
    const has = byWinner(unused);
    if (unused.length === 0) this.#byPath.delete(path);
    else this.#byPath.set(path, unused);
    const changed = [...had, ...has].filter(([uid]) => had.has(uid) !== has.has(uid));
    return changed.map(([uid, { other }]) => ({ ref: other, reason: REASON, ...this.#besides(uid) }));
  }

  /** Pods of a manifest that are not run. */
  of(path: string): readonly UnusedPod[] {
    return this.#byPath.get(path) ?? [];
  }

  /** Which manifest has the pod that is not run, and which the one that is: for the end of an event's message; empty if it is run. */
  filesOf(uid: string): string {
    for (const [path, unused] of this.#byPath) {
      const found = unused.find(({ pod }) => pod.uid === uid);
      if (found !== undefined) return ` the pod of ${path}: that of ${found.path} runs`;
    }
    return '';
  }

  #besides(winner: string): Pick<DuplicateEvent, 'type' | 'message'> {
    const all = [...this.#byPath].flatMap(([path, pods]) =>
      pods.filter(({ other }) => other.uid === winner).map((unused) => ({ from: path, unused })),
    );
    const [first] = all;
    if (first === undefined) return { type: 'Normal', message: 'no manifest has another pod any more that is not run' };
    const { path, field } = first.unused;
    const paths = [...new Set(all.map(({ from }) => from))];
    const more = paths.length > SHOWN_PATHS ? ` and ${paths.length - SHOWN_PATHS} more` : '';
    const same = field === 'metadata.uid' ? 'UID' : 'name';
    const where = `${paths.slice(0, SHOWN_PATHS).join(', ')}${more}`;
    return { type: 'Warning', message: `${path} has this pod; another with its ${same} in ${where} is not run` };
  }
}

function byWinner(unused: readonly UnusedPod[]): ReadonlyMap<string, UnusedPod> {
  return new Map(unused.map((one) => [one.other.uid, one]));
}
