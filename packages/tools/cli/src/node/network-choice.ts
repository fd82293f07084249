import { type NodeDir, type NodeSettings, checkMachineNetwork, checkWayOut, parsePublishedPort } from '@kubus/launcher';
import { toError } from '@kubus/ports';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { UserError } from '../user-error.ts';
import type { Progress } from './start-steps.ts';

/**
 * The network of a new node: what was asked for, else `nat` where this machine can have it. Says so where it cannot.
 *
 * @throws UserError when the machine cannot have what was asked for.
 */
export async function chooseNetwork(
  dir: NodeDir,
  asked: NodeSettings['network'] | undefined,
  progress: Progress,
): Promise<NodeSettings['network']> {
  if (asked === 'none') return asked;
  if (asked === 'host') {
    await checkMachineNetwork(dir);
    return asked;
  }
  try {
    await checkWayOut();
  } catch (error) {
    const { message } = toError(error);
    if (asked !== undefined) throw new UserError(`--network ${asked} is not possible: ${message}`, { cause: error });
    progress.line(`kubus: pods and pulls reach this node only (--network none), because ${message}`);
    return 'none';
  }
  return 'nat';
}

/**
 * Throws a {@link UserError} when a port of the machine cannot be opened.
 *
 * @param open those that the node has open already
 */
export async function checkPublished(
  network: NodeSettings['network'],
  wanted: readonly string[],
  open: readonly string[],
): Promise<void> {
  if (network === 'host' && wanted.length > 0) {
    throw new UserError(
      '--publish is for a node with a network of its own: with --network host, hostPort of a pod is a port of the machine',
    );
  }
  const ports = wanted.map(parsePublishedPort);
  const taken = ports.find(({ port }, index) => ports.findIndex((other) => other.port === port) !== index);
  if (taken !== undefined) throw new UserError(`--publish: port ${taken.port} is given twice`);
  const own = open.map(parsePublishedPort);
  for (const { address, port } of ports) {
    if (own.some((other) => other.address === address && other.port === port)) continue;
    const server = createServer().listen(port, address);
    await once(server, 'listening').catch((error: unknown) => {
      throw new UserError(`--publish: port ${port} of ${address} cannot be opened: ${toError(error).message}`);
    });
    await once(server.close(), 'close');
  }
}
