import { KubusError } from '@kubus/ports';

/** Thrown when an image or native program cannot be built or imported; the message says which one and how to fix it. */
export class NodeImageError extends KubusError {}
