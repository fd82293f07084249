import { type Cause, type FactOwner, formatTime } from '@kubus/bus';
import type { MirrorPod, PodRef, StatusWrite } from '@kubus/contracts';
import type { Clock } from '@kubus/ports';
import { nameOf } from './api-pods.ts';

/** Tells how far the API server knows each pod, and which mirror it has of static ones. */
export class StatusFacts {
  readonly #writes: FactOwner<StatusWrite>;
  readonly #mirrors: FactOwner<MirrorPod>;
  readonly #clock: Clock;
  readonly #told = new Map<string, StatusWrite>();
  readonly #mirrorsTold = new Map<string, string>();

  constructor(options: { writes: FactOwner<StatusWrite>; mirrors: FactOwner<MirrorPod>; clock: Clock }) {
    this.#writes = options.writes;
    this.#mirrors = options.mirrors;
    this.#clock = options.clock;
  }

  /** How it stands with the pod of that UID on the node. */
  stateOf(uid: string): StatusWrite['state'] | undefined {
    return this.#told.get(uid)?.state;
  }

  /** UIDs on the node of the pods of that name of which something has been told. */
  uidsOf(name: string): string[] {
    return [...this.#told].filter(([, { ref }]) => nameOf(ref) === name).map(([uid]) => uid);
  }

  /** How many pods there are in each state. */
  get counts(): ReadonlyMap<StatusWrite['state'], number> {
    const counts = new Map<StatusWrite['state'], number>();
    for (const { state } of this.#told.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
    return counts;
  }

  tell(uid: string, told: Omit<StatusWrite, 'since'>, causes: readonly Cause[]): void {
    const before = this.#told.get(uid);
    const { state, error } = told;
    const same = before?.state === state && before.error === error;
    if (same && before.resourceVersion === told.resourceVersion && before.ref.uid === told.ref.uid) return;
    const since = same && state !== 'written' ? before.since : formatTime(this.#clock.now());
    const resourceVersion = told.resourceVersion ?? before?.resourceVersion;
    const value = { ...told, since, ...(resourceVersion !== undefined && { resourceVersion }) };
    this.#told.set(uid, value);
    this.#writes.put(uid, value, { pod: uid, causes });
  }

  /** Nobody speaks of the pod any more. */
  forget(uid: string): void {
    if (this.#told.delete(uid)) this.#writes.remove(uid, { pod: uid });
  }

  /** @param mirrorUid of the static pod's copy; undefined when there is none */
  tellMirror(ref: PodRef, mirrorUid: string | undefined, causes: readonly Cause[]): void {
    const { uid } = ref;
    if (this.#mirrorsTold.get(uid) === mirrorUid) return;
    if (mirrorUid === undefined) {
      this.#mirrorsTold.delete(uid);
      this.#mirrors.remove(uid, { pod: uid, causes });
    } else {
      this.#mirrorsTold.set(uid, mirrorUid);
      this.#mirrors.put(uid, { ref, mirrorUid }, { pod: uid, causes });
    }
  }

  /** What earlier lives have told and this one does not is not so any more. */
  complete(): void {
    this.#writes.complete();
    this.#mirrors.complete();
  }
}
