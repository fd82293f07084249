import { type RunningCommand, poll, startCommand } from '@kubus/harness';
import { freePorts } from '@kubus/launcher';
import { type NatsConnection, headers } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestHub } from './hub.ts';

/** A node of a hub that was taken over: a NATS server with the node's credentials that sends and asks for whatever it likes. */
export class HostileNode {
  readonly name: string;
  /** All rights in the account that is connected to the hub. */
  readonly connection: NatsConnection;
  readonly #server: RunningCommand;

  static async start(hub: TestHub, name: string): Promise<HostileNode> {
    const { KUBUS_HUB_CA: ca = '' } = await hub.admit(name);
    const [port = 0] = await freePorts(1);
    const url = `tls://${name}:${await hub.password(name)}@localhost:${hub.leafPort}`;
    const file = join(hub.folder, `${name}.conf`);
    const lines = [
      `server_name: ${name}`,
      `listen: "127.0.0.1:${port}"`,
      `jetstream: { domain: ${name}, store_dir: ${JSON.stringify(join(hub.folder, name))} }`,
      'accounts: { HUB: { jetstream: enabled, users: [{ user: all, password: all }] } }',
      'leafnodes: { remotes: [{ account: HUB, ' +
        `urls: [${JSON.stringify(url)}], tls: { ca_file: ${JSON.stringify(ca)} } }] }`,
    ];
    await writeFile(file, lines.join('\n'), { mode: 0o600 });
    const server = startCommand('nats-server', ['--config', file], {});
    await poll('the hostile node at the hub', () => {
      if (server.child.exitCode !== null) throw new Error(`nats-server has ended: ${server.written.stderr}`);
      return Promise.resolve(
        /JetStream using domains|Leafnode connection created/.test(server.written.stderr) || undefined,
      );
    });
    const connection = await connect({ servers: `127.0.0.1:${port}`, user: 'all', pass: 'all' });
    return new HostileNode(name, connection, server);
  }

  private constructor(name: string, connection: NatsConnection, server: RunningCommand) {
    this.name = name;
    this.connection = connection;
    this.#server = server;
  }

  /** Serves a stream of events as a node serves its own, with any subjects in it. */
  async serve(
    events: readonly { readonly subject: string; readonly headers: object; readonly data: string }[],
  ): Promise<void> {
    const config = { name: `EVENTS_${this.name}_1`, subjects: ['kubus.*.worker.event.recorded.*'], storage: 'memory' };
    await this.#call(`$JS.API.STREAM.CREATE.${config.name}`, JSON.stringify(config));
    for (const { subject, headers: fields, data } of events) {
      const wire = headers();
      for (const [name, value] of Object.entries(fields)) wire.set(name, String(value));
      await this.#call(subject, data, wire);
    }
  }

  async #call(subject: string, data: string, wire = headers()): Promise<void> {
    const answer = await this.connection.request(subject, data, { timeout: 5_000, headers: wire });
    const { error } = answer.json<{ error?: { description: string } }>();
    if (error !== undefined) throw new Error(`${subject}: ${error.description}`);
  }

  async stop(): Promise<void> {
    await this.connection.close();
    await this.#server.end('SIGKILL');
  }
}
