import type { FactOwner } from '@kubus/bus';

/** This instance's ownership of one pod. Another instance may notice the loss first. */
export class Ownership {
  /** Called when it turns out that another instance owns the pod. */
  readonly onTaken: () => void;
  readonly #uid: string;
  readonly #facts: readonly Pick<FactOwner<unknown>, 'claim'>[];
  #term = -1;

  /** @param options.facts claimed for the pod under each term */
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

  /** The term under which this instance owns the pod (`sync.fact.pod`). */
  get term(): number {
    return this.#term;
  }

  /** The pod is assigned to this instance again. Another one may have owned it in between: this one's facts count again. */
  raise(term: number): void {
    if (term <= this.#term) return;
    this.#term = term;
    for (const facts of this.#facts) facts.claim(this.#uid, term);
  }
}
