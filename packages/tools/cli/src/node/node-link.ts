import type { Bus, FactHandlers, FactReader, StoredMessage, Transport } from '@kubus/bus';
import { PEOPLE, connectNats, inboxPrefix, readRecord, readSeed } from '@kubus/bus-nats';
import { type FactDeclaration, contractsOf } from '@kubus/contracts';
import {
  type NodeDir,
  descriptorsText,
  identitiesFolder,
  natsAccess,
  nodeDir,
  readSettings,
  withoutDescriptors,
} from '@kubus/launcher';
import { ignoring, silentLogger } from '@kubus/ports';
import { joinBus, systemIds } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { noSuchNode, upCommand } from './no-such-node.ts';
import { UserError } from '../user-error.ts';

/** How long a node may take to answer before it counts as not running, in milliseconds. */
const ANSWER_MS = 3_000;

/** The command line's connection to a node. */
export interface NodeLink {
  readonly dir: NodeDir;
  readonly bus: Bus;
  readonly connection: NatsConnection;
  /** Whether the node was started with `--faults`. */
  readonly faults: boolean;
  /** Messages in the node's record whose subject matches one of the filters, see readRecord of @kubus/bus-nats. */
  record(...filters: readonly string[]): Promise<StoredMessage[]>;
  /** Reads the current values of a fact; `handlers` are called for later changes. */
  facts<T>(declaration: FactDeclaration<T>, handlers?: FactHandlers<T>): Promise<FactReader<T>>;
}

/** Connects to a running node. Throws a {@link UserError} that says how to start it when it does not exist or does not answer. */
export async function connectNode(node: string): Promise<NodeLink> {
  const dir = nodeDir(node);
  const seed = await ignoring('ENOENT', readSeed(identitiesFolder(dir), PEOPLE));
  if (seed === undefined) throw noSuchNode(node);
  const settings = await readSettings(dir);
  const faults = settings?.faults ?? false;
  const { url: servers, tls } = natsAccess(dir, settings);
  const connection = await connectNats({ servers, tls, instance: PEOPLE, seed, once: true }).catch(
    async (error: unknown) => {
      await refuseWithoutDescriptors(dir);
      throw new UserError(
        `NATS of node ${node} cannot be reached (${String(error)}): start the node with ${upCommand(node)}`,
      );
    },
  );
  const { bus, transport } = joinBus({
    connection,
    node,
    service: 'cli',
    identity: PEOPLE,
    // Several commands run at once, so each is an instance of its own.
    instance: `cli-${process.pid}-${systemIds.hex(3)}`,
    epoch: 1,
    logger: silentLogger,
    contracts: contractsOf({ faults }),
  });
  await connected(transport, dir).catch(async (error: unknown) => {
    await refuseWithoutDescriptors(dir);
    throw error;
  });
  // A random inbox, so that no other command with the same identity receives the messages.
  const inbox = () => `${inboxPrefix(PEOPLE)}.${systemIds.hex(8)}`;
  return {
    dir,
    bus,
    connection,
    faults,
    record: (...filters) => readRecord(connection, node, filters, inbox()),
    facts: async <T>(declaration: FactDeclaration<T>, handlers?: FactHandlers<T>) => {
      const reader = bus.reader(declaration, handlers);
      await reader.whenPresent();
      return reader;
    },
  };
}

/** A node that does not answer may have a process that can open nothing any more: says so instead. */
async function refuseWithoutDescriptors({ node, processes }: NodeDir): Promise<void> {
  const found = await withoutDescriptors(processes);
  if (found.length === 0) return;
  const lines = found.map((one) => `${one.process}: ${descriptorsText(one)}`);
  throw new UserError(`node ${node} does not answer, ${lines.join('; ')}`);
}

function connected(transport: Transport, dir: NodeDir): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(
        new UserError(
          `node ${dir.node} is not ready: its facts cannot be read within ${ANSWER_MS / 1000} s; see logs/launcher.log in ${dir.root}`,
        ),
      );
    }, ANSWER_MS);
    const end = transport.onConnection((is) => {
      if (!is) return;
      clearTimeout(late);
      end();
      resolve();
    });
    if (transport.connected) {
      clearTimeout(late);
      end();
      resolve();
    }
  });
}
