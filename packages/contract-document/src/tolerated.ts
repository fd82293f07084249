import type { Incompatibility } from './compatibility.ts';

/** A change that the comparison takes for an incompatible one and that is none, with the reason. */
export interface Tolerated extends Pick<Incompatibility, 'kind' | 'of' | 'field'> {
  readonly because: string;
}

/**
 * Changes since the version before that both versions can live with although the schemas alone do not show it. A release empties this
 * list; what matches no change must not stand here.
 */
export const tolerated: readonly Tolerated[] = [
  {
    kind: 'refused by the earlier',
    of: 'node.event.process.v1',
    field: 'service',
    because: 'only a node with a hub has that process, and none has one before it was started anew with this version',
  },
];
