import { createUser, fromSeed } from '@nats-io/nkeys';
import type { Identity, Permissions } from './permissions.ts';

/** An identity with its key pair. The seed is secret; only its owner's file (0600) holds it. */
export interface KeyedIdentity extends Identity {
  readonly publicKey: string;
  readonly seed: string;
}

/** Makes a fresh Ed25519 user key (nkey) for an identity. */
export function createIdentity(identity: Identity): KeyedIdentity {
  const key = createUser();
  return { ...identity, publicKey: key.getPublicKey(), seed: new TextDecoder().decode(key.getSeed()) };
}

/** The public key of a seed. */
export function publicKeyOf(seed: string): string {
  return fromSeed(new TextEncoder().encode(seed)).getPublicKey();
}

export interface ServerOptions {
  /** The address to listen on. */
  readonly host: string;
  /** Port 0 lets the system choose; the server logs its choice. */
  readonly port: number;
  /** Folder of JetStream's files. */
  readonly storeDir: string;
  readonly serverName: string;
  readonly users: readonly { identity: Pick<KeyedIdentity, 'instance' | 'publicKey'>; permissions: Permissions }[];
}

/** Largest message, in bytes (DESIGN, messages). */
export const MAX_PAYLOAD = 8 * 1024 * 1024;

/** The configuration file of a nats-server for one node: keys and permissions of every identity, nobody else. */
export function serverConfig(options: ServerOptions): string {
  const users = options.users.map(({ identity, permissions }) =>
    [
      `    # ${identity.instance}`,
      `    { nkey: ${identity.publicKey}, permissions: {`,
      `        publish: { allow: ${list(permissions.publish)} }`,
      `        subscribe: { allow: ${list(permissions.subscribe)} }`,
      '    } }',
    ].join('\n'),
  );
  return `${[
    `server_name: ${JSON.stringify(options.serverName)}`,
    `host: ${JSON.stringify(options.host)}`,
    `port: ${options.port === 0 ? -1 : options.port}`,
    `max_payload: ${MAX_PAYLOAD}`,
    `jetstream: { store_dir: ${JSON.stringify(options.storeDir)}, max_mem: 256MB, max_file: 1GB }`,
    'authorization: {',
    '  users: [',
    ...users,
    '  ]',
    '}',
  ].join('\n')}\n`;
}

function list(subjects: readonly string[]): string {
  return `[${subjects.map((subject) => JSON.stringify(subject)).join(', ')}]`;
}
