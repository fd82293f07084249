import { KubusError } from '@kubus/ports';

/**
 * Thrown when the test API server cannot fulfil a request of a test: an object that did not appear, a file that is not an
 * object.
 */
export class KubeFixtureError extends KubusError {}
