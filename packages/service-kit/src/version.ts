/** Set by the bundler; sources that run unbundled have none. */
declare const KUBUS_VERSION: string | undefined;

/** Version of the running code, as semantic versioning writes it: discovery (ADR-32) takes no other. */
export const version: string = typeof KUBUS_VERSION === 'string' ? KUBUS_VERSION : '0.0.0-dev';
