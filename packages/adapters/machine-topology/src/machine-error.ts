import { KubusError } from '@kubus/ports';

/** Thrown when a file of the kernel is missing, or is not what its documentation says. */
export class MachineError extends KubusError {}
