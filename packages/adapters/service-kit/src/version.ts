/** Set by the bundler; undefined in sources that run unbundled. */
declare const KUBUS_VERSION: string | undefined;

/** Version of the running code, as a semantic version: discovery (ADR-32) accepts no other format. */
export const version: string = typeof KUBUS_VERSION === 'string' ? KUBUS_VERSION : '0.0.0-dev';
