import { KubusError } from '@kubus/ports';

/**
 * The node can not be asked, or does not do what it was asked: `not-running`, `not-allowed`, `refused` (with the answer's
 * `status` as context) or `broken`.
 */
export class NodeClientError extends KubusError {}
