import type { PodSizes } from '@kubus/admission';

/** The progress of the pod's resize; kept from sync to sync. */
export interface ResizeState {
  sizes: PodSizes;
  /** The error of the last attempt. */
  error: string | undefined;
}

/** Used by a step that changes the pod's resources. */
export interface ResizeSync {
  readonly resize: ResizeState;
}
