import { StorageType, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { recordStream } from './names.ts';
import { type RecordLimits, recordConfig } from './streams.ts';

const REQUEST_MS = 5_000;
/** The record is trimmed when it has less than this left to its limit, and afterwards has twice as much: what a node at rest adds in some minutes. */
const ROOM: RecordLimits = { maxBytes: 1024 * 1024, maxAgeMs: 300_000 };

/** What the record holds. */
export interface RecordContent {
  readonly bytes: number;
  /** When its oldest message was stored, milliseconds since the Unix epoch. */
  readonly since: number;
}

/** Whether the record is close to one of its limits. An empty record never is. */
export function isTrimDue({ bytes, since }: RecordContent, limits: RecordLimits, now: number): boolean {
  return bytes > limits.maxBytes - ROOM.maxBytes || (bytes > 0 && now - since > limits.maxAgeMs - ROOM.maxAgeMs);
}

/**
 * Removes the oldest messages of a record in files before it reaches its limits. At a limit the server would remove one with each new message, and
 * keep the file that they are in in memory for that: up to 4 MiB, on a node at rest too. While pods come and go it may come to that.
 * The limits are made lower for a moment, since a purge of the whole stream leaves the subjects of what it has removed in the server's
 * index (nats-server 2.9.10). Should that be interrupted, the next call sets them right.
 *
 * @param connection with the identity of the streams
 * @returns whether anything had to be removed.
 * @throws JetStreamApiError when there is no record; RequestError or TimeoutError when the server does not answer.
 */
export async function trimRecord(
  connection: NatsConnection,
  node: string,
  limits: RecordLimits,
  now: number,
): Promise<boolean> {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: REQUEST_MS });
  const { config, state } = await manager.streams.info(recordStream(node));
  const content = { bytes: state.bytes, since: Date.parse(state.first_ts) };
  const isInterrupted = config.max_bytes < limits.maxBytes;
  if (config.storage !== StorageType.File || !(isInterrupted || isTrimDue(content, limits, now))) return false;
  const lower = { maxBytes: limits.maxBytes - 2 * ROOM.maxBytes, maxAgeMs: limits.maxAgeMs - 2 * ROOM.maxAgeMs };
  for (const each of [lower, limits]) await manager.streams.update(config.name, recordConfig(node, each, 'files'));
  return true;
}
