import { KubusError } from '@kubus/ports';

/** What a test asked of the test API server can not be had: an object that did not come, a file that is no object. */
export class KubeFixtureError extends KubusError {}
