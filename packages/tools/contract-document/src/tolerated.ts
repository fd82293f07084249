import type { Incompatibility } from './compatibility.ts';

/** A change that the comparison reports as incompatible although it is not, with the reason. */
export interface Tolerated extends Pick<Incompatibility, 'kind' | 'of' | 'field'> {
  readonly because: string;
}

/**
 * Changes since the previous version with which both versions work although the schemas alone do not show it. A release empties this
 * list; an entry that matches no change is an error.
 */
export const tolerated: readonly Tolerated[] = [];
