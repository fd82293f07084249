/** Set by the bundler; sources that run unbundled have none. */
declare const KUBUS_VERSION: string | undefined;

/** Version of the running code. */
export const version: string = typeof KUBUS_VERSION === 'string' ? KUBUS_VERSION : 'dev';
