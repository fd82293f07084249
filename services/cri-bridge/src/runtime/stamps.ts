import type { Stamp } from '@kubus/contracts';

/** The bridge's order of events (rule:hints): each read and each end of a command takes the next number. */
export class Stamps {
  readonly #epoch: number;
  #counter = 0;

  constructor(epoch: number) {
    this.#epoch = epoch;
  }

  next(): Stamp {
    this.#counter += 1;
    return { epoch: this.#epoch, counter: this.#counter };
  }
}
