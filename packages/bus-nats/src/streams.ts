import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { bucketName, bucketStream, nodeSubject, recordStream, storeSubject } from './names.ts';

/** How much of the node's messages is kept for `kubus trace`. */
export interface RecordLimits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

export const defaultRecordLimits: RecordLimits = { maxBytes: 128 * 1024 * 1024, maxAgeMs: 3_600_000 };

/**
 * Makes the node's two streams if they are missing: the bucket of facts (memory, one value per key, republished) and the
 * record of all messages. Only the launcher's identity may. Harmless when they exist.
 */
export async function ensureStreams(connection: NatsConnection, node: string, limits: RecordLimits): Promise<void> {
  const client = jetstream(connection);
  const manager = await jetstreamManager(connection);
  await new Kvm(client).create(bucketName(node), {
    storage: StorageType.Memory,
    history: 1,
    republish: { src: storeSubject(node, '>'), dest: nodeSubject(node, '>') },
  });
  await ensureRecord(manager, node, limits);
}

/**
 * Removes the node's two streams with all that is in them. Only the launcher's identity may. Harmless when they are gone.
 */
export async function removeStreams(connection: NatsConnection, node: string): Promise<void> {
  const manager = await jetstreamManager(connection);
  for (const stream of [bucketStream(node), recordStream(node)]) {
    await manager.streams.delete(stream).catch((error: unknown) => {
      // 10059: there is no such stream.
      if (!(error instanceof JetStreamApiError && error.code === 10059)) throw error;
    });
  }
}

async function ensureRecord(manager: JetStreamManager, node: string, limits: RecordLimits): Promise<void> {
  const config: Partial<StreamConfig> & { name: string } = {
    name: recordStream(node),
    subjects: [nodeSubject(node, '>')],
    // Without this, JetStream's acknowledgement would reach a command's sender as if it were the reply.
    no_ack: true,
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_bytes: limits.maxBytes,
    max_age: limits.maxAgeMs * 1_000_000,
  };
  try {
    await manager.streams.add(config);
  } catch (error) {
    // 10058: the stream exists with another configuration, such as other limits.
    if (!(error instanceof JetStreamApiError && error.code === 10058)) throw error;
    await manager.streams.update(config.name, config);
  }
}
