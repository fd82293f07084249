import { type RecordLimits, type RecordStorage, ensureHubStream, ensureStreams, trimRecord } from '@kubus/bus-nats';
import { type Logger, hasErrno, toError } from '@kubus/ports';
import { systemClock } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { access, constants, statfs } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/** How often the room on the disk of the streams is looked at, in milliseconds: often enough for a disk that is being filled fast. */
const LOOK_MS = 1_000;
/** How often the size of the record is looked at, in milliseconds. */
const TRIM_MS = 5_000;
/** Below this, the record of messages is kept in memory. */
const SHORT_BYTES = 64 * 1024 * 1024;
/** With this much free, it is in files again: far enough above, so that it does not change to and fro. */
const ROOM_BYTES = 4 * SHORT_BYTES;

/** What {@link NodeStreams} needs. */
export interface NodeStreamsOptions {
  /** With the identity of the streams. */
  readonly connection: NatsConnection;
  readonly node: string;
  /** The folder of the node's own NATS server; it does not exist where another server is used, whose disk is not watched. */
  readonly store: string;
  /** How much the record may hold. */
  readonly limits: RecordLimits;
  /** Whether there is a stream for a hub. */
  readonly hub: boolean;
  readonly logger: Logger;
}

/**
 * A node's streams: made at once and after every reconnection, because facts are in memory and a restarted server has none. The record
 * of messages is in memory while the disk is nearly full or read-only, because the server no longer answers once it cannot write the record.
 */
export class NodeStreams {
  readonly #options: NodeStreamsOptions;
  readonly #looking: NodeJS.Timeout;
  readonly #trimming: NodeJS.Timeout;
  #storage: RecordStorage = 'files';
  #isTrimming = false;
  /** One change at a time. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: NodeStreamsOptions) {
    this.#options = options;
    this.#looking = setInterval(() => void this.#look(), LOOK_MS);
    this.#trimming = setInterval(() => void this.#trim(), TRIM_MS);
    void this.#follow();
  }

  /** Resolves when the streams exist, or when the connection is closed. */
  async ensure(): Promise<void> {
    await this.#decide();
    await this.#make();
  }

  /** The streams stay. */
  stop(): void {
    clearInterval(this.#looking);
    clearInterval(this.#trimming);
  }

  async #follow(): Promise<void> {
    for await (const { type } of this.#options.connection.status()) if (type === 'reconnect') await this.ensure();
  }

  async #look(): Promise<void> {
    if (await this.#decide()) await this.#make();
  }

  /** One at a time. Without it the server itself keeps the record within its limits. */
  async #trim(): Promise<void> {
    const { connection, node, limits, logger } = this.#options;
    if (this.#isTrimming) return;
    this.#isTrimming = true;
    try {
      const trimmed = await trimRecord(connection, node, limits, systemClock.now());
      if (trimmed) logger.debug({}, 'trimmed the record of messages');
    } catch (error) {
      logger.debug({ err: toError(error) }, 'cannot trim the record of messages yet');
    } finally {
      this.#isTrimming = false;
    }
  }

  /** Decides where the record is. Returns whether that is another place than before. */
  async #decide(): Promise<boolean> {
    const { store, logger } = this.#options;
    const before = this.#storage;
    const freeBytes = await freeOn(store);
    if (freeBytes === undefined || freeBytes >= (before === 'files' ? SHORT_BYTES : ROOM_BYTES))
      this.#storage = 'files';
    else this.#storage = 'memory';
    if (this.#storage === before) return false;
    const what =
      this.#storage === 'memory'
        ? 'the disk is nearly full or read-only: the record of messages begins anew in memory; make room on it'
        : 'the disk has room again: the record of messages begins anew in files';
    logger.warn({ path: store, freeBytes }, what);
    return true;
  }

  #make(): Promise<void> {
    const { connection, node, limits, hub } = this.#options;
    this.#last = this.#last.then(async () => {
      await this.#retryUntilDone('the streams', () => ensureStreams(connection, node, limits, this.#storage));
      // Not awaited: nothing in the node needs the hub's stream.
      if (hub) {
        void this.#retryUntilDone('the stream for the hub', () => ensureHubStream(connection, node, systemClock.now()));
      }
    });
    return this.#last;
  }

  /** Retries every 100 ms until it succeeds or the connection is closed. */
  async #retryUntilDone(what: string, make: () => Promise<void>): Promise<void> {
    const { connection, logger } = this.#options;
    while (!connection.isClosed()) {
      try {
        await make();
        return;
      } catch (error) {
        logger.warn({ err: toError(error) }, `cannot create ${what} yet; trying again`);
        await wait(100);
      }
    }
  }
}

/** Bytes that can be written on the disk of a folder; undefined when there is no such folder; 0 when that cannot be read. */
async function freeOn(path: string): Promise<number | undefined> {
  try {
    await access(path, constants.W_OK);
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch (error) {
    return hasErrno(error, 'ENOENT') ? undefined : 0;
  }
}
