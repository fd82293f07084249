import { HEADER } from './envelope.ts';

/**
 * The place of a fact's value among all values of its key: by the term under which its instance had the key, then by the
 * instance's epoch, then by its counter. Keys that stay with one instance have no terms.
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

/** The rank that a fact's headers tell. */
export function rankOf(headers: Readonly<Record<string, string>>): FactRank {
  return {
    term: Number(headers[HEADER.term] ?? 0),
    epoch: Number(headers[HEADER.epoch]),
    version: Number(headers[HEADER.version]),
  };
}
