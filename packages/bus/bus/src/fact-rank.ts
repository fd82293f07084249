import { HEADER } from './envelope.ts';

/**
 * The rank of a fact's value among all values of its key: by the term in which its instance owned the key, then by the
 * instance's epoch, then by its counter. Keys that always belong to one instance have no terms.
 */
export interface FactRank {
  readonly term: number;
  readonly epoch: number;
  readonly version: number;
}

/** Negative when `a` is older than `b`, 0 when they are the same value. */
export function compareRanks(a: FactRank, b: FactRank): number {
  return a.term - b.term || a.epoch - b.epoch || a.version - b.version;
}

/** The rank in a fact's headers. */
export function rankOf(headers: Readonly<Record<string, string>>): FactRank {
  return {
    term: Number(headers[HEADER.term] ?? 0),
    epoch: Number(headers[HEADER.epoch]),
    version: Number(headers[HEADER.version]),
  };
}
