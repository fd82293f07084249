import { connectNats, readSeed, removeStreams } from '@kubus/bus-nats';
import { toError } from '@kubus/ports';
import { jetstreamManager } from '@nats-io/jetstream';
import { AuthorizationError, type NatsConnection } from '@nats-io/nats-core';
import { LauncherError } from './errors.ts';

/** The identity that makes and removes streams. */
const instance = 'launcher-0';

/** A node on a NATS server that is not its own. */
export interface NatsUse {
  /** `nats://host:port` or `tls://host:port`, in the network of the calling process. */
  readonly url: string;
  /** File of the authorities that a `tls://` server is known by; left out: those of the system. */
  readonly ca?: string | undefined;
  readonly node: string;
  /** Folder of the node's identities. */
  readonly identities: string;
}

/**
 * Finds out whether a node can use the server; changes nothing there.
 *
 * @throws LauncherError `NatsUnusable` with URL, cause and what to do.
 */
export async function checkNats(use: NatsUse): Promise<void> {
  const connection = await connect(use);
  try {
    await jetstreamManager(connection);
  } catch (error) {
    throw unusable(use, `has no JetStream for node ${use.node} (${toError(error).message})`, remedy, error);
  } finally {
    await connection.close();
  }
}

/**
 * Removes a node's streams from the server; harmless when there are none.
 *
 * @throws LauncherError `NatsUnusable` as {@link checkNats}.
 */
export async function leaveNats(use: NatsUse): Promise<void> {
  const connection = await connect(use);
  try {
    await removeStreams(connection, use.node);
  } catch (error) {
    throw unusable(use, `keeps the streams of node ${use.node} (${toError(error).message})`, 'look at its log', error);
  } finally {
    await connection.close();
  }
}

const remedy = 'let it read the configuration that "kubus identities" writes';

async function connect(use: NatsUse): Promise<NatsConnection> {
  const { url, ca, node, identities } = use;
  const seed = await readSeed(identities, instance);
  return connectNats({ servers: url, tls: { ca }, instance, seed, once: true }).catch((error: unknown) => {
    if (error instanceof AuthorizationError) throw unusable(use, `refuses node ${node}`, remedy, error);
    throw unusable(use, `can not be reached (${toError(error).message})`, 'start it, or correct the URL', error);
  });
}

function unusable({ url }: NatsUse, what: string, todo: string, cause: unknown): LauncherError {
  return new LauncherError('NatsUnusable', `NATS at ${url} ${what}: ${todo}`, { cause, context: { url } });
}
