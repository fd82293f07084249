import { KubusError } from '@kubus/ports';

/** An image could not be built or imported; the message names the image or program and what to install or mend. */
export class NodeImageError extends KubusError {}
