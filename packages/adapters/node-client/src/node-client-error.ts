import { KubusError } from '@kubus/ports';

/**
 * Thrown when the node does not answer, or refuses a request: `not-running`, `not-allowed`, `refused` (with the response's
 * `status` as context) or `broken`.
 */
export class NodeClientError extends KubusError {}
