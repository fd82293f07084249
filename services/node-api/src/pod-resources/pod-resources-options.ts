import type { NodeFacts } from '../node-facts.ts';
import type { DeviceFacts } from './device-facts.ts';

/** The methods whose requests are counted. */
export type PodResourcesMethod = 'list' | 'get_allocatable' | 'get';

/** Options of the pod resources API. */
export interface PodResourcesOptions {
  readonly facts: Pick<NodeFacts, 'pods' | 'find'>;
  readonly devices: DeviceFacts;
  /** Whether one more request may be answered at this time. */
  readonly allow: () => boolean;
  readonly count: (method: PodResourcesMethod, failed: boolean) => void;
}
