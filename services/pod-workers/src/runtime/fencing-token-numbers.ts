/** Fencing tokens of one epoch are numbered within it. */
const TOKENS_PER_EPOCH = 1_000_000;

/**
 * Numbers of the fencing tokens that this process takes for pods (rule:fenced-commands): each is greater than all that this
 * process took before.
 */
export class FencingTokenNumbers {
  #epoch: number;
  readonly #nextEpoch: () => number;
  #taken = 0;

  /** @param nextEpoch takes a further epoch, greater than all earlier ones of any instance. */
  constructor(epoch: number, nextEpoch: () => number) {
    this.#epoch = epoch;
    this.#nextEpoch = nextEpoch;
  }

  /** @param fencedOff another instance has fenced the pod under a later epoch. */
  next(fencedOff: boolean): number {
    if (fencedOff) {
      this.#epoch = this.#nextEpoch();
      this.#taken = 0;
    }
    this.#taken += 1;
    return this.#epoch * TOKENS_PER_EPOCH + this.#taken;
  }
}
