import type { Incompatibility } from './compatibility.ts';

/** A change that the comparison reports as incompatible although it is not, with the reason. */
export interface Tolerated extends Pick<Incompatibility, 'kind' | 'of' | 'field'> {
  readonly because: string;
}

/**
 * Changes since the previous version with which both versions work although the schemas alone do not show it. A release empties this
 * list; an entry that matches no change is an error.
 */
export const tolerated: readonly Tolerated[] = [
  {
    ...{ kind: 'refused by the earlier', of: 'service.fact.instance.v1', field: 'service' },
    because:
      'only a private node with its own API has kube-api, which exchanges nothing with services: an earlier one that refuses its announcement misses nothing',
  },
  {
    ...{ kind: 'refused by the earlier', of: 'node.event.process.v1', field: 'service' },
    because: 'an earlier command line refuses the event and goes on',
  },
];
