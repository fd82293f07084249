import { type AccountLinks, busLinks, streamsLinks } from './accounts.ts';
import { type HubLink, hubAccount, hubDomain, leafNodes } from './hub-link.ts';
import { busAccount, streamsAccount } from './names.ts';
import { createUserKey } from './nkey.ts';
import { type Identity, type Permissions, streamsInstance } from './permissions.ts';

/** An identity with its key pair. The seed is secret and only kept in its owner's file (0600). */
export interface KeyedIdentity extends Identity {
  readonly publicKey: string;
  readonly seed: string;
}

/** Creates an Ed25519 user key (nkey) for an identity. */
export function createIdentity(identity: Identity): KeyedIdentity {
  return { ...identity, ...createUserKey() };
}

interface ServerUser {
  readonly identity: Pick<KeyedIdentity, 'instance' | 'publicKey'>;
  readonly permissions: Permissions;
}

/** A node that uses a server, with all of its identities. */
export interface ServerNode {
  readonly node: string;
  readonly users: readonly ServerUser[];
}

export interface ServerOptions {
  /** The address to listen on. */
  readonly host: string;
  /** Port 0 lets the system choose; the server logs the chosen port. */
  readonly port: number;
  /** Files of its certificate and key, PEM; undefined: no TLS. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Folder of JetStream's files. Default: one that the server chooses in the folder for temporary files (TMPDIR). */
  readonly storeDir?: string;
  readonly serverName: string;
  readonly nodes: readonly ServerNode[];
  /** Default: enough for any node. */
  readonly limits?: NodeLimits | undefined;
  /** Where the events of one of the nodes are sent in addition. */
  readonly hub?: HubLink | undefined;
}

/** Largest message, in bytes. */
const MAX_PAYLOAD = 8 * 1024 * 1024;

/** The limit of JetStream's storage for one node, in MB: facts in memory, the record of messages in files. */
const MEMORY_MB = 256;
const FILES_MB = 1024;

/** What one node may use of a server, whatever its identities do. */
export interface NodeLimits {
  /** Its processes have about twenty, each command line program has one more. */
  readonly connections: number;
  /** A node has three at most. */
  readonly streams: number;
  /** Of each stream: a reader needs one for each fact, for some seconds. */
  readonly consumers: number;
}

const nodeLimits: NodeLimits = { connections: 256, streams: 8, consumers: 2_000 };

/** How long a client may take to sign in, in seconds: on a machine without a free processor it can take longer than the 2 s of the server's default. */
const AUTHENTICATION_S = 10;

/** The maximum number of nodes of a server: the limits for all together cannot be changed while it is running. */
export const MAX_NODES = 32;

/**
 * The configuration file of a nats-server: keys and permissions of every identity of its nodes, and no others. Each node
 * has its own accounts, so that no message passes between two nodes, whatever an identity does: subjects, streams,
 * inboxes and discovery of each are separate. See {@link AccountLinks} for why there are two.
 */
export function serverConfig(options: ServerOptions): string {
  const { hub, nodes, storeDir, tls } = options;
  const store = storeDir === undefined ? '' : `store_dir: ${JSON.stringify(storeDir)}, `;
  const domain = hub === undefined ? '' : `domain: ${JSON.stringify(hubDomain(hub.node))}, `;
  return `${[
    `server_name: ${JSON.stringify(options.serverName)}`,
    `host: ${JSON.stringify(options.host)}`,
    `port: ${options.port === 0 ? -1 : options.port}`,
    `max_payload: ${MAX_PAYLOAD}`,
    // Most subjects name a pod or a request, and never come again: to remember who listens to each takes 2 MiB.
    'disable_sublist_cache: true',
    `authorization: { timeout: ${AUTHENTICATION_S} }`,
    ...(tls === undefined
      ? []
      : [`tls: { cert_file: ${JSON.stringify(tls.cert)}, key_file: ${JSON.stringify(tls.key)}, timeout: 5 }`]),
    `jetstream: { ${store}${domain}${limits(MAX_NODES)} }`,
    'accounts: {',
    ...nodes.flatMap((node) => accountsOf(node, options.limits ?? nodeLimits, hub)),
    ...(hub === undefined ? [] : hubAccount(hub)),
    '}',
    ...(hub === undefined ? [] : leafNodes(hub)),
  ].join('\n')}\n`;
}

function accountsOf({ node, users }: ServerNode, limit: NodeLimits, hub: HubLink | undefined): string[] {
  const own = hub?.node === node ? hub : undefined;
  const isOfStreams = ({ identity }: ServerUser) => identity.instance === streamsInstance;
  const jetstream = `jetstream: { ${limits(1)}, max_streams: ${limit.streams}, max_consumers: ${limit.consumers} }`;
  return [
    ...account(streamsAccount(node), [jetstream], users.filter(isOfStreams), streamsLinks(node, own), limit),
    ...account(
      busAccount(node),
      [],
      users.filter((user) => !isOfStreams(user)),
      busLinks(node, own),
      limit,
    ),
  ];
}

function account(
  name: string,
  more: readonly string[],
  users: readonly ServerUser[],
  links: AccountLinks,
  limit: NodeLimits,
): string[] {
  return [
    `  ${JSON.stringify(name)}: {`,
    ...more.map((line) => `    ${line}`),
    `    limits: { max_connections: ${limit.connections}, max_payload: ${MAX_PAYLOAD} }`,
    '    users: [',
    ...users.map(({ identity, permissions }) =>
      [
        `      # ${identity.instance}`,
        `      { nkey: ${identity.publicKey}, permissions: {`,
        `        publish: { allow: ${list(permissions.publish)} }`,
        `        subscribe: { allow: ${list(permissions.subscribe)} }`,
        '      } }',
      ].join('\n'),
    ),
    '    ]',
    ...(['exports', 'imports'] as const).flatMap((what) => [
      `    ${what}: [`,
      ...links[what].map((link) => `      ${link}`),
      '    ]',
    ]),
    '  }',
  ];
}

function limits(nodes: number): string {
  return `max_mem: ${nodes * MEMORY_MB}MB, max_file: ${nodes * FILES_MB}MB`;
}

function list(subjects: readonly string[]): string {
  return `[${subjects.map((subject) => JSON.stringify(subject)).join(', ')}]`;
}
