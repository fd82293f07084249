import type { FactOwner } from '@kubus/bus';

/** This instance's having one pod, of which another instance may come to know first that it is over. */
export class Tenure {
  /** Told when it shows that another instance has the pod. */
  readonly onTaken: () => void;
  readonly #uid: string;
  readonly #facts: readonly Pick<FactOwner<unknown>, 'claim'>[];
  #term = -1;

  /** @param options.facts what is said of the pod */
  constructor(options: {
    uid: string;
    term: number;
    facts: readonly Pick<FactOwner<unknown>, 'claim'>[];
    onTaken: () => void;
  }) {
    this.#uid = options.uid;
    this.#facts = options.facts;
    this.onTaken = options.onTaken;
    this.raise(options.term);
  }

  /** The term under which this instance has the pod (`sync.fact.pod`). */
  get term(): number {
    return this.#term;
  }

  /** The pod is given to this instance anew. It may have been with another one meanwhile: what this one says counts again. */
  raise(term: number): void {
    if (term <= this.#term) return;
    this.#term = term;
    for (const facts of this.#facts) facts.claim(this.#uid, term);
  }
}
