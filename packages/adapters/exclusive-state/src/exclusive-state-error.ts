import { KubusError } from '@kubus/ports';

/** Thrown when a checkpoint of the CPU or the memory manager cannot be used; the message has the reference kubelet's words. */
export class ExclusiveStateError extends KubusError {}
