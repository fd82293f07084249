import { hasErrno } from '@kubus/ports';
import { closeSync, openSync } from 'node:fs';

/** Enough for the health server's connections, and for a request of a service to itself. */
const SPARE = 8;
/** With so many free besides the spare ones, there are enough again. */
const ENOUGH = 4;

/**
 * File descriptors that are given back when there are no others, so that a process without any can still say so: opened first, they have
 * the lowest numbers, and a limit is one of numbers (getrlimit(2)).
 */
export class SpareDescriptors {
  readonly #open: () => number;
  readonly #close: (descriptor: number) => void;
  #held: number[] = [];

  constructor(
    open: () => number = () => openSync('/dev/null', 'r'),
    close: (descriptor: number) => void = (descriptor) => closeSync(descriptor),
  ) {
    this.#open = open;
    this.#close = close;
    this.look();
  }

  /** Whether other descriptors are left. Gives the spare ones back when there are none, and takes them again when there are. */
  look(): boolean {
    const wanted = this.#held.length > 0 ? 1 : SPARE + ENOUGH;
    const opened: number[] = [];
    try {
      while (opened.length < wanted) opened.push(this.#open());
      const surplus = opened.splice(this.#held.length > 0 ? 0 : SPARE);
      for (const one of surplus) this.#close(one);
      this.#held.push(...opened);
      return true;
    } catch (error) {
      for (const one of [...opened, ...this.#held]) this.#close(one);
      this.#held = [];
      // Anything else than a lack of them is not what is asked here.
      return !hasErrno(error, 'EMFILE', 'ENFILE');
    }
  }
}
