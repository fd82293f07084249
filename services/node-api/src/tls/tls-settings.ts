import { ConfigError } from '@kubus/service-kit';
import type { SecureVersion } from 'node:tls';

/** TLS settings, in the terms of Node.js. */
export interface TlsSettings {
  readonly minVersion: SecureVersion;
  /** OpenSSL's names, the preferred one first. */
  readonly ciphers: string;
}

const versions: ReadonlyMap<string, SecureVersion> = new Map([
  ['VersionTLS10', 'TLSv1'],
  ['VersionTLS11', 'TLSv1.1'],
  ['VersionTLS12', 'TLSv1.2'],
  ['VersionTLS13', 'TLSv1.3'],
]);

/** OpenSSL's names of the suites that the reference accepts and Node.js supports, by their IANA names. */
const suites: ReadonlyMap<string, string> = new Map([
  ['TLS_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ['TLS_AES_256_GCM_SHA384', 'TLS_AES_256_GCM_SHA384'],
  ['TLS_CHACHA20_POLY1305_SHA256', 'TLS_CHACHA20_POLY1305_SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA', 'ECDHE-ECDSA-AES128-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', 'ECDHE-ECDSA-AES128-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA', 'ECDHE-ECDSA-AES256-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'ECDHE-RSA-AES128-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', 'ECDHE-RSA-AES128-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ECDHE-RSA-AES256-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA256', 'AES128-SHA256'],
  ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
  ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
  ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
]);

/** Without a setting: what has forward secrecy and authenticated encryption, which every client of today speaks. */
const defaultSuites = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];

/**
 * Reads tlsMinVersion and tlsCipherSuites (behaviour:certificates-and-authentication). As with the reference, suites do not affect
 * TLS 1.3, whose own suites are always all enabled.
 *
 * Throws a ConfigError that names the field for an unknown version or suite.
 */
export function tlsSettings(config: {
  readonly minVersion?: string | undefined;
  readonly cipherSuites: readonly string[];
}): TlsSettings {
  const { minVersion = 'VersionTLS12', cipherSuites } = config;
  const version = versions.get(minVersion);
  if (version === undefined) {
    throw new ConfigError('bad-config', `server.minVersion: unknown tls version "${minVersion}"`);
  }
  const names = cipherSuites.map((name) => {
    const suite = suites.get(name);
    if (suite !== undefined) return suite;
    throw new ConfigError('bad-config', `server.cipherSuites: Cipher suite ${name} not supported or doesn't exist`);
  });
  return { minVersion: version, ciphers: (names.length === 0 ? defaultSuites : names).join(':') };
}
