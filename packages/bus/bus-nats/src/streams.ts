import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  jetstreamManager,
} from '@nats-io/jetstream';
import { type NatsConnection, NoRespondersError, RequestError } from '@nats-io/nats-core';
import { STREAMS_API, bucketStream, nodeSubject, recordStream, storeSubject } from './names.ts';

/** How long the server may take to answer, in milliseconds. */
const ANSWER_MS = 5_000;

/** How much of the node's messages is kept for `kubus trace`, at most. */
export interface RecordLimits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/**
 * The short lives of 125 pods and the last hour, which {@link trimRecord} leaves. The server keeps an index of all messages in memory, and, when it removes the oldest ones,
 * the file that they are in. With 31 MiB it needed 5 MiB more, with 128 MiB 30.
 */
export const defaultRecordLimits: RecordLimits = { maxBytes: 13 * 1024 * 1024, maxAgeMs: 70 * 60_000 };

/** On a node that keeps journals: a replay needs all messages of a life, from its start. */
export const journaledRecordLimits: RecordLimits = { ...defaultRecordLimits, maxBytes: 128 * 1024 * 1024 };

/** Where the record is: a server whose disk is full no longer answers once it has to write the record there (nats-server 2.9). */
export type RecordStorage = 'files' | 'memory';

/**
 * The server decides how large the files of a stream are by the limit with which it is created: 32 kB with this one, 4 MiB with a larger one, and 8 MiB from 32 MiB on
 * (nats-server, dynBlkSize). It removes messages faster from small files, and needs less memory for it; each takes 4 KiB of memory. It forgets the size when it ends: files that
 * are new after that have 4 MiB.
 */
const SMALL_FILES_BYTES = 127_000;
/** Up to this limit a record has small files. */
const SMALL_RECORD_BYTES = 32 * 1024 * 1024;

/** The limit of a record in memory, in bytes. */
const MEMORY_RECORD_BYTES = 16 * 1024 * 1024;

/**
 * Creates the node's two streams if they are missing: the bucket of facts (memory, one value per key, republished) and the
 * record of all messages. Streams with another configuration, such as those of an earlier version, get this one; a record that is stored elsewhere
 * is replaced by an empty one. Only allowed for the identity of the streams. Does nothing when they exist.
 */
export async function ensureStreams(
  connection: NatsConnection,
  node: string,
  limits: RecordLimits,
  storage: RecordStorage = 'files',
): Promise<void> {
  const manager = await jetstreamManager(connection);
  await ensure(manager, bucketConfig(node));
  const config = recordConfig(node, limits, storage);
  const isSmall = storage === 'files' && limits.maxBytes <= SMALL_RECORD_BYTES;
  await ensure(manager, config, isSmall ? { ...config, max_bytes: SMALL_FILES_BYTES } : config);
}

/**
 * Removes the node's two streams with their content. Only allowed for the identity of the streams. Does nothing when they do not exist.
 */
export async function removeStreams(connection: NatsConnection, node: string): Promise<void> {
  const manager = await jetstreamManager(connection);
  for (const stream of [bucketStream(node), recordStream(node)]) {
    await manager.streams.delete(stream).catch((error: unknown) => {
      // 10059: the stream does not exist.
      if (!(error instanceof JetStreamApiError && error.code === 10059)) throw error;
    });
  }
}

/**
 * Whether the account of the services reaches that of the streams. A server that was reloaded with a new account does not link it until
 * it is reloaded once more (nats-server 2.9 to 2.15).
 */
export async function reachesStreams(connection: NatsConnection, node: string): Promise<boolean> {
  try {
    await connection.request(`${STREAMS_API}.STREAM.INFO.${bucketStream(node)}`, '', { timeout: ANSWER_MS });
    return true;
  } catch (error) {
    const cause = error instanceof RequestError ? error.cause : error;
    if (cause instanceof NoRespondersError) return false;
    throw error;
  }
}

type NamedConfig = Partial<StreamConfig> & { name: string };

/**
 * A key-value bucket (NATS ADR-8), except that no header (`Nats-Rollup`) removes values: otherwise a client that may write one key
 * could erase all.
 */
function bucketConfig(node: string): NamedConfig {
  return {
    name: bucketStream(node),
    subjects: [storeSubject(node, '>')],
    storage: StorageType.Memory,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msgs_per_subject: 1,
    deny_delete: true,
    allow_rollup_hdrs: false,
    allow_direct: true,
    republish: { src: storeSubject(node, '>'), dest: nodeSubject(node, '>') },
  };
}

/** The record of all messages as a stream. */
export function recordConfig(node: string, limits: RecordLimits, storage: RecordStorage): NamedConfig {
  const inMemory = storage === 'memory';
  return {
    name: recordStream(node),
    subjects: [nodeSubject(node, '>')],
    // Without this, JetStream's acknowledgment would reach a command's sender as if it were the reply.
    no_ack: true,
    storage: inMemory ? StorageType.Memory : StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    deny_delete: true,
    allow_rollup_hdrs: false,
    max_bytes: inMemory ? Math.min(limits.maxBytes, MEMORY_RECORD_BYTES) : limits.maxBytes,
    max_age: limits.maxAgeMs * 1_000_000,
  };
}

/** @param created with which a missing stream is created, before it gets `config` */
async function ensure(manager: JetStreamManager, config: NamedConfig, created: NamedConfig = config): Promise<void> {
  const added = await add(manager, created);
  if (added && created === config) return;
  if (!added) {
    const { config: present } = await manager.streams.info(config.name);
    if (present.storage !== config.storage) {
      // Storage is the one thing that the server does not change.
      await manager.streams.delete(config.name);
      await add(manager, created);
    }
  }
  await manager.streams.update(config.name, config);
}

/** @returns false when the stream exists with another configuration. */
async function add(manager: JetStreamManager, config: NamedConfig): Promise<boolean> {
  try {
    await manager.streams.add(config);
    return true;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === 10058) return false;
    throw error;
  }
}
