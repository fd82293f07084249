import { KubusError } from '@kubus/ports';

/** A checkpoint of the CPU or the memory manager cannot be used: what the reference kubelet says about it. */
export class ExclusiveStateError extends KubusError {}
