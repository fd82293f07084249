import { KubusError } from '@kubus/ports';

/** Thrown when the stored objects cannot be used; the message says which file, or which objects. */
export class StoreError extends KubusError {}
