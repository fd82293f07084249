import { KubusError } from '@kubus/ports';

/** Thrown when a test runtime or node cannot be started, leaves something behind, or does not reach the state that a test waits for. */
export class HarnessError extends KubusError {}
