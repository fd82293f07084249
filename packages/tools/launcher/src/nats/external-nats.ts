import { connectNats, reachesStreams, readSeed, removeStreams, streamsInstance } from '@kubus/bus-nats';
import { toError } from '@kubus/ports';
import { jetstreamManager } from '@nats-io/jetstream';
import { AuthorizationError, type NatsConnection } from '@nats-io/nats-core';
import { LauncherError } from '../errors.ts';

/** The launcher's identity. */
const launcher = 'launcher-0';
/** The identity that may ask who is there. */
const asking = 'cli-0';
/** How long a launcher may take to say that it is there, in milliseconds. */
const ANSWER_MS = 2_000;

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
 * Checks whether a node can use the server, and that no launcher of a node with its name and keys does; changes nothing there.
 *
 * @throws LauncherError `NatsUnusable` with the URL, the cause and how to fix it.
 */
export async function checkNats(use: NatsUse): Promise<void> {
  await refuseSecond(use);
  const connection = await connect(use);
  try {
    await jetstreamManager(connection);
  } catch (error) {
    throw unusable(use, `offers no JetStream to node ${use.node} (${toError(error).message})`, remedy, error);
  } finally {
    await connection.close();
  }
  await checkLink(use);
}

/** The services have to reach the streams. */
async function checkLink(use: NatsUse): Promise<void> {
  const connection = await connect(use, asking);
  try {
    if (await reachesStreams(connection, use.node)) return;
  } finally {
    await connection.close();
  }
  throw unusable(use, `has not linked the accounts of node ${use.node}`, 'reload the server once more', undefined);
}

/** Two machines that run one node would take each other's facts for their own of another life. */
async function refuseSecond(use: NatsUse): Promise<void> {
  const connection = await connect(use, asking);
  try {
    const answered = await connection
      .request(`$SRV.PING.launcher.${launcher}`, '', { timeout: ANSWER_MS })
      .catch(() => undefined);
    if (answered === undefined) return;
  } finally {
    await connection.close();
  }
  throw unusable(
    use,
    `is used by a running node ${use.node} already`,
    'stop that one, or start this one with another name and keys of its own (--node)',
    undefined,
  );
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

const remedy = 'start the server with the configuration that "kubus identities" writes, or reload it twice';

async function connect(use: NatsUse, as = streamsInstance): Promise<NatsConnection> {
  const { url, ca, node, identities } = use;
  const seed = await readSeed(identities, as);
  return connectNats({ servers: url, tls: { ca }, instance: as, seed, once: true }).catch((error: unknown) => {
    if (error instanceof AuthorizationError)
      throw unusable(use, `does not accept the identities of node ${node}`, remedy, error);
    throw unusable(use, `cannot be reached (${toError(error).message})`, 'start the server, or correct the URL', error);
  });
}

function unusable({ url }: NatsUse, what: string, todo: string, cause: unknown): LauncherError {
  return new LauncherError('NatsUnusable', `NATS at ${url} ${what}: ${todo}`, { cause, context: { url } });
}
