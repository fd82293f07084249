import { type ServiceContract, type ServiceName, patternOf } from '@kubus/contracts';
import { StorageType, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { busAccount, nodeSubject, nodeToken, streamsAccount } from './names.ts';

/** Where the server of one node sends its events: a server to which those of many nodes connect, by a leaf node connection. */
export interface HubLink {
  /** One of the server's nodes. */
  readonly node: string;
  /** With user and password: one of these is connected to at a time, the first one is preferred. */
  readonly urls: readonly string[];
  /** How a `tls://` hub is verified; undefined: no TLS. */
  readonly tls?: { readonly ca?: string | undefined } | undefined;
  /** The events that are kept for the hub. */
  readonly events: readonly string[];
}

/**
 * The account of the connection to the hub. It receives only events, and nothing passes from it to the
 * accounts of the node, so requests of the hub cannot reach more than its own copy. Upper case: no node has this name.
 */
const HUB = 'HUB';

/** The JetStream API of that account, in the account of the node's streams. */
const API = 'HUB.API';
const calls = ['STREAM.NAMES', 'STREAM.CREATE.*'];

/** The requests with which the launcher creates the stream of {@link ensureHubStream}. They are not answered on a node without a hub. */
export const hubCalls: readonly string[] = calls.map((call) => `${API}.${call}`);

/** The limit of what is kept for an unreachable hub, in bytes; the oldest events are dropped first. */
const STREAM_BYTES = 128 * 1024 * 1024;
/** The limit of the account's storage for it, in MB. */
const FILES_MB = 256;
/** A hub has one; those of lost connections expire. */
const MAX_CONSUMERS = 16;

/** Distinguishes JetStream's API of this server from that of others. */
export function hubDomain(node: string): string {
  return nodeToken(node);
}

/**
 * The events that a node sends to its hub: every declared one, except those with which instances keep whole messages
 * (`service.event.refused`, `service.event.journal`).
 */
export function hubEvents(node: string, contracts: Readonly<Record<ServiceName, ServiceContract>>): string[] {
  const events = Object.values(contracts).flatMap(({ publishes }) => publishes);
  return [...new Set(events.map((event) => patternOf(node, event)))];
}

/** The exports of the account of the node's services. */
export function nodeAccountExports({ events }: HubLink): string[] {
  return events.map((subject) => `{ stream: ${quoted(subject)}, accounts: [${HUB}] }`);
}

/** The imports of the account of the node's streams. */
export const hubImports: readonly string[] = calls.map(
  (call) => `{ service: { account: ${HUB}, subject: ${quoted(`$JS.API.${call}`)} }, to: ${quoted(`${API}.${call}`)} }`,
);

/** The account for the hub. */
export function hubAccount({ node, events }: HubLink): string[] {
  return [
    `  ${HUB}: {`,
    `    jetstream: { max_mem: 0, max_file: ${FILES_MB}MB }`,
    `    imports: [${events
      .map((subject) => `{ stream: { account: ${quoted(busAccount(node))}, subject: ${quoted(subject)} } }`)
      .join(', ')}]`,
    `    exports: [${calls
      .map((call) => `{ service: ${quoted(`$JS.API.${call}`)}, accounts: [${quoted(streamsAccount(node))}] }`)
      .join(', ')}]`,
    '  }',
  ];
}

/** The configuration of the connection to the hub. */
export function leafNodes(link: HubLink): string[] {
  const { urls, tls } = link;
  const ca = tls?.ca === undefined ? '' : `ca_file: ${quoted(tls.ca)}`;
  return [
    'leafnodes: {',
    '  remotes: [{',
    `    account: ${HUB}`,
    '    no_randomize: true',
    `    urls: [${urls.map(quoted).join(', ')}]`,
    ...(tls === undefined ? [] : [`    tls: { ${ca} }`]),
    `    deny_imports: [${refusedRequests(link).map(quoted).join(', ')}]`,
    // The hub gets events from the stream, each of them once.
    `    deny_exports: ["kubus.>", "$JS.EVENT.>"]`,
    '  }]',
    // A hub that is unreachable for a day must not fill the log: one failed attempt an hour is logged.
    // A number: 2.9 does not accept a duration here, and later servers only warn.
    '  reconnect: 3',
    '}',
    'reconnect_error_reports: 1200',
  ];
}

/**
 * The requests that a hub must not make. NATS has no list of allowed ones for it: these are the stream's name, a consumer for it, and
 * its flow control. The API is that of nats-server 2.9 to 2.12.
 */
function refusedRequests({ node }: HubLink): string[] {
  const api = `$JS.${hubDomain(node)}.API`;
  const consumers = ['DELETE', 'DURABLE', 'INFO', 'LEADER', 'LIST', 'MSG', 'NAMES', 'PAUSE', 'RESET', 'UNPIN'];
  return [
    'kubus.>',
    '$JS.API.>',
    ...['INFO', 'ACCOUNT.>', 'DIRECT.>', 'META.>', 'SERVER.>', '$KV.>', '$OBJ.>', 'STREAM.LIST', 'STREAM.*.>'].map(
      (call) => `${api}.${call}`,
    ),
    ...consumers.map((call) => `${api}.CONSUMER.${call}.>`),
  ];
}

/**
 * Creates the stream from which a hub receives the node's events, if it is missing. It is found by its account, and its name contains
 * the time: a hub keeps its position by the stream's name, and would wait for a new stream to reach the length of the old one.
 *
 * @param now milliseconds since the Unix epoch
 */
export async function ensureHubStream(connection: NatsConnection, node: string, now: number): Promise<void> {
  const manager = await jetstreamManager(connection, { apiPrefix: API, checkAPI: false });
  if ((await manager.streams.names().next()).length > 0) return;
  await manager.streams.add({
    name: `EVENTS_${nodeToken(node)}_${Math.round(now)}`,
    subjects: [nodeSubject(node, '>')],
    no_ack: true,
    storage: StorageType.File,
    max_bytes: STREAM_BYTES,
    max_consumers: MAX_CONSUMERS,
  });
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
