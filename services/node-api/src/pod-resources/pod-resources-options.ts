import type { NodeFacts } from '../node-facts.ts';
import type { DeviceFacts } from './device-facts.ts';

/** The methods whose requests are counted; `v1alpha1` is the only one of that version, List, and counted in the total only. */
export type PodResourcesMethod = 'list' | 'get_allocatable' | 'get' | 'v1alpha1';

/** Options of the pod resources API. */
export interface PodResourcesOptions {
  readonly facts: Pick<NodeFacts, 'pods' | 'find'>;
  readonly devices: DeviceFacts;
  /** Whether one more request may be answered at this time. */
  readonly allow: () => boolean;
  readonly count: (method: PodResourcesMethod, failed: boolean) => void;
}
