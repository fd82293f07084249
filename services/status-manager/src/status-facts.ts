import { type Cause, type FactOwner, formatTime } from '@kubus/bus';
import type { MirrorPod, PodRef, StatusWrite } from '@kubus/contracts';
import type { Clock } from '@kubus/ports';
import { nameOf } from './api-pods.ts';

/** Publishes the state of each pod's status on the API server, and the mirror pods of static pods. */
export class StatusFacts {
  readonly #writes: FactOwner<StatusWrite>;
  readonly #mirrors: FactOwner<MirrorPod>;
  readonly #clock: Clock;
  readonly #published = new Map<string, StatusWrite>();
  readonly #publishedMirrors = new Map<string, string>();

  constructor(options: { writes: FactOwner<StatusWrite>; mirrors: FactOwner<MirrorPod>; clock: Clock }) {
    this.#writes = options.writes;
    this.#mirrors = options.mirrors;
    this.#clock = options.clock;
  }

  /** The write state of the pod with that UID on the node. */
  stateOf(uid: string): StatusWrite['state'] | undefined {
    return this.#published.get(uid)?.state;
  }

  /** UIDs on the node of the pods of that name with a published state. */
  uidsOf(name: string): string[] {
    return [...this.#published].filter(([, { ref }]) => nameOf(ref) === name).map(([uid]) => uid);
  }

  /** Number of pods in each state. */
  get counts(): ReadonlyMap<StatusWrite['state'], number> {
    const counts = new Map<StatusWrite['state'], number>();
    for (const { state } of this.#published.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
    return counts;
  }

  publish(uid: string, write: Omit<StatusWrite, 'since'>, causes: readonly Cause[]): void {
    const before = this.#published.get(uid);
    const { state, error } = write;
    const same = before?.state === state && before.error === error;
    if (same && before.resourceVersion === write.resourceVersion && before.ref.uid === write.ref.uid) return;
    const since = same && state !== 'written' ? before.since : formatTime(this.#clock.now());
    const resourceVersion = write.resourceVersion ?? before?.resourceVersion;
    const value = { ...write, since, ...(resourceVersion !== undefined && { resourceVersion }) };
    this.#published.set(uid, value);
    this.#writes.put(uid, value, { pod: uid, causes });
  }

  /** No service has a fact of the pod any more. */
  forget(uid: string): void {
    if (this.#published.delete(uid)) this.#writes.remove(uid, { pod: uid });
  }

  /** @param mirrorUid of the static pod's mirror; undefined when there is none */
  publishMirror(ref: PodRef, mirrorUid: string | undefined, causes: readonly Cause[]): void {
    const { uid } = ref;
    if (this.#publishedMirrors.get(uid) === mirrorUid) return;
    if (mirrorUid === undefined) {
      this.#publishedMirrors.delete(uid);
      this.#mirrors.remove(uid, { pod: uid, causes });
    } else {
      this.#publishedMirrors.set(uid, mirrorUid);
      this.#mirrors.put(uid, { ref, mirrorUid }, { pod: uid, causes });
    }
  }

  /** Facts of earlier processes that this one has not published are removed. */
  complete(): void {
    this.#writes.complete();
    this.#mirrors.complete();
  }
}
