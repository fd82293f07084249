import { KubusError } from '@kubus/ports';

/** A test runtime could not be started, left something behind, or did not do what a test waits for. */
export class HarnessError extends KubusError {}
