import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceContract, ServiceName } from '@kubus/contracts';
import type { NatsConnection } from '@nats-io/nats-core';
import { type NodeLimits } from './identities.ts';
import {
  type Identity,
  type KeyedIdentity,
  STREAMS,
  connectNats,
  createIdentity,
  defaultRecordLimits,
  ensureStreams,
  permissionsOf,
  serverConfig,
  streamsInstance,
} from './index.ts';

/** A private nats-server process with an identity for each given service. */
export class TestNatsServer {
  readonly identities = new Map<string, KeyedIdentity>();
  #dir = '';
  #node = '';
  #child: ChildProcess | undefined;
  #port = 0;
  readonly #disk: string;

  /** @param disk the folder of its files; default: that for temporary ones */
  constructor(disk = tmpdir()) {
    this.#disk = disk;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`;
  }

  /**
   * @param permissions what each identity may do; tests that look for gaps override it
   * @param limits what they may use together
   */
  async start(
    node: string,
    contracts: Readonly<Record<ServiceName, ServiceContract>>,
    identities: readonly Identity[],
    permissions = permissionsOf,
    limits?: NodeLimits,
  ): Promise<void> {
    this.#node = node;
    this.#dir = await mkdtemp(join(this.#disk, 'kubus-nats-'));
    for (const identity of [...identities, { service: STREAMS, instance: streamsInstance } as const])
      this.identities.set(identity.instance, createIdentity(identity));
    const users = [...this.identities.values()].map((identity) => ({
      identity,
      permissions: permissions(identity, node, contracts),
    }));
    const config = (port: number) =>
      serverConfig({
        host: '127.0.0.1',
        port,
        storeDir: join(this.#dir, 'js'),
        serverName: node,
        nodes: [{ node, users }],
        limits,
      });
    await writeFile(join(this.#dir, 'nats.conf'), config(0), { mode: 0o600 });
    await this.#spawn();
    // A restarted server must use the same port.
    await writeFile(join(this.#dir, 'nats.conf'), config(this.#port), { mode: 0o600 });
  }

  /** A connection with the key of that instance. */
  connect(instance: string, options: { readonly once?: boolean } = {}): Promise<NatsConnection> {
    return connectNats({ servers: this.url, instance, seed: this.identities.get(instance)?.seed ?? '', ...options });
  }

  /** Creates the node's streams, as its launcher does. */
  async makeStreams(limits = defaultRecordLimits): Promise<void> {
    const connection = await this.connect(streamsInstance);
    await ensureStreams(connection, this.#node, limits);
    await connection.close();
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Restarts the server with an empty store. */
  async restart(): Promise<void> {
    await rm(join(this.#dir, 'js'), { recursive: true, force: true });
    await this.#spawn();
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #spawn(): Promise<void> {
    const child = spawn('nats-server', ['-c', join(this.#dir, 'nats.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (data: Buffer) => {
        log += data.toString();
        if (log.includes('Server is ready')) resolve();
      });
      child.once('exit', () => reject(new Error(`nats-server ended: ${log}`)));
      child.once('error', reject);
    });
    this.#port = Number(/Listening for client connections on \S+:(\d+)/.exec(log)?.[1]);
    const probe = createConnection({ host: '127.0.0.1', port: this.#port });
    await once(probe, 'connect');
    probe.destroy();
  }
}
