import { KubusError } from '@kubus/ports';

/** Thrown when the guest cannot be built, booted or reached, or a command in it failed. */
export class GuestError extends KubusError {}
