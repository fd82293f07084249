import { connectNats, readSeed, removeStreams } from '@kubus/bus-nats';
import { toError } from '@kubus/ports';
import { jetstreamManager } from '@nats-io/jetstream';
import { AuthorizationError, type NatsConnection } from '@nats-io/nats-core';
import { LauncherError } from '../errors.ts';

/** The identity that creates and removes streams. */
const instance = 'launcher-0';

/** A node on an external NATS server. */
export interface NatsUse {
  /** `nats://host:port` or `tls://host:port`, in the network of the calling process. */
  readonly url: string;
  /** File with the CA certificates for a `tls://` server. Default: the system's. */
  readonly ca?: string | undefined;
  readonly node: string;
  /** Folder of the node's identities. */
  readonly identities: string;
}

/**
 * Checks whether a node can use the server; changes nothing there.
 *
 * @throws LauncherError `NatsUnusable` with the URL, the cause and how to fix it.
 */
export async function checkNats(use: NatsUse): Promise<void> {
  const connection = await connect(use);
  try {
    await jetstreamManager(connection);
  } catch (error) {
    throw unusable(use, `offers no JetStream to node ${use.node} (${toError(error).message})`, remedy, error);
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
    throw unusable(
      use,
      `did not remove the streams of node ${use.node} (${toError(error).message})`,
      'see the log of the server',
      error,
    );
  } finally {
    await connection.close();
  }
}

const remedy = 'start or reload the server with the configuration that "kubus identities" writes';

async function connect(use: NatsUse): Promise<NatsConnection> {
  const { url, ca, node, identities } = use;
  const seed = await readSeed(identities, instance);
  return connectNats({ servers: url, tls: { ca }, instance, seed, once: true }).catch((error: unknown) => {
    if (error instanceof AuthorizationError)
      throw unusable(use, `does not accept the identities of node ${node}`, remedy, error);
    throw unusable(use, `cannot be reached (${toError(error).message})`, 'start the server, or correct the URL', error);
  });
}

function unusable({ url }: NatsUse, what: string, todo: string, cause: unknown): LauncherError {
  return new LauncherError('NatsUnusable', `NATS at ${url} ${what}: ${todo}`, { cause, context: { url } });
}
