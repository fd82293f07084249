/** Holds of one epoch are numbered within it. */
const HOLDS_PER_EPOCH = 1_000_000;

/** Numbers of the holds that this process takes on pods (DESIGN rule 5): each is greater than all that it took before. */
export class HoldNumbers {
  #epoch: number;
  readonly #nextEpoch: () => number;
  #holds = 0;

  /** @param nextEpoch takes a further epoch, greater than all that were given before, to any instance. */
  constructor(epoch: number, nextEpoch: () => number) {
    this.#epoch = epoch;
    this.#nextEpoch = nextEpoch;
  }

  /** @param fencedOff another instance has held the pod under a later epoch than ours. */
  next(fencedOff: boolean): number {
    if (fencedOff) {
      this.#epoch = this.#nextEpoch();
      this.#holds = 0;
    }
    this.#holds += 1;
    return this.#epoch * HOLDS_PER_EPOCH + this.#holds;
  }
}
