import { claimsStep } from '../claims/claims-step.ts';
import { containersStep } from '../containers/containers-step.ts';
import { endUnneededStep } from '../containers/end-unneeded.ts';
import { checkObjects } from '../objects/objects.ts';
import { sandboxStep } from '../sandbox/sandbox.ts';
import { checkVolumes } from '../volumes/volumes.ts';
import { cgroupStep } from './pod-cgroup.ts';
import { folderStep } from './pod-folder.ts';
import { checkNetwork } from './prerequisites.ts';

/** The preconditions for starting or stopping anything of a pod, in the order in which they are reported. */
export const checks = [checkNetwork, checkVolumes, checkObjects] as const;

/**
 * The steps that bring a pod into the state of its spec, in order (behaviour:pod-workers, SyncPod). A terminated pod is removed by the
 * steps from the last to the first.
 */
export const steps = [endUnneededStep, cgroupStep, folderStep, claimsStep, sandboxStep, containersStep] as const;
