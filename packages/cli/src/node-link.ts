import type { Bus, FactHandlers, FactReader, Transport } from '@kubus/bus';
import { PEOPLE, connectNats, inboxPrefix, readRecord, readSeed } from '@kubus/bus-nats';
import type { StoredMessage } from '@kubus/causality';
import { type FactDeclaration, contractsOf } from '@kubus/contracts';
import { type NodeDir, identitiesFolder, natsAccess, nodeDir, readSettings } from '@kubus/launcher';
import { silentLogger } from '@kubus/ports';
import { joinBus, systemIds } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { UserError } from './user-error.ts';

/** How long a node may take to answer before it counts as not running, in milliseconds. */
const ANSWER_MS = 3_000;

/** The command line's connection to a node. */
export interface NodeLink {
  readonly dir: NodeDir;
  readonly bus: Bus;
  readonly connection: NatsConnection;
  /** The node was started with faults. */
  readonly faults: boolean;
  /** What the node's record holds under a filter, see readRecord of @kubus/bus-nats. */
  record(filter: string): Promise<StoredMessage[]>;
  /** Reads a fact's present values. */
  facts<T>(declaration: FactDeclaration<T>, handlers?: FactHandlers<T>): Promise<FactReader<T>>;
}

/** Connects to a running node. Throws a {@link UserError} that says how to start it when it does not answer. */
export async function connectNode(node: string): Promise<NodeLink> {
  const dir = nodeDir(node);
  const seed = await readSeed(identitiesFolder(dir), PEOPLE).catch(() => undefined);
  if (seed === undefined) throw new UserError(`node ${node} does not exist on this machine: start it with ./kubus up`);
  const settings = await readSettings(dir);
  const faults = settings?.faults ?? false;
  const { url: servers, tls } = natsAccess(dir, settings);
  const connection = await connectNats({ servers, tls, instance: PEOPLE, seed, once: true }).catch((error: unknown) => {
    throw new UserError(`node ${node} does not answer (${String(error)}): start it with ./kubus up`);
  });
  const { bus, transport } = joinBus({
    connection,
    node,
    service: 'cli',
    identity: PEOPLE,
    // Several run at once, so each is an instance of its own.
    instance: `cli-${process.pid}-${systemIds.hex(3)}`,
    epoch: 1,
    logger: silentLogger,
    contracts: contractsOf({ faults }),
  });
  await connected(transport, node);
  // For answers that no other program of the same identity is to read.
  const inbox = () => `${inboxPrefix(PEOPLE)}.${systemIds.hex(8)}`;
  return {
    dir,
    bus,
    connection,
    faults,
    record: (filter) => readRecord(connection, node, filter, inbox()),
    facts: async <T>(declaration: FactDeclaration<T>, handlers?: FactHandlers<T>) => {
      const reader = bus.reader(declaration, handlers);
      await reader.whenPresent();
      return reader;
    },
  };
}

function connected(transport: Transport, node: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(new UserError(`node ${node} is not ready: its facts can not be read (is its launcher running?)`));
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
