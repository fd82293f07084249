import { type RunningCommand, checkout, poll, startCommand } from '@kubus/harness';
import { Authority } from '@kubus/kube-fixture';
import { freePorts } from '@kubus/launcher';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The hub of `examples/hub` with TLS, on free ports of the machine's loopback. */
export class TestHub {
  readonly folder: string;
  readonly url: string;
  readonly ca: string;
  /** The port for leaf nodes. */
  readonly leafPort: number;
  #server: RunningCommand | undefined;

  static async start(): Promise<TestHub> {
    const folder = await mkdtemp(join(tmpdir(), 'kubus-hub-'));
    const [port = 0, leafPort = 0] = await freePorts(2);
    const hub = new TestHub(folder, port, leafPort);
    await cp(join(checkout, 'examples/hub'), folder, { recursive: true });
    const config = await readFile(join(folder, 'nats-tls.conf'), 'utf8');
    const here = config.replace('0.0.0.0:4222', `127.0.0.1:${port}`).replace('0.0.0.0:7422', `127.0.0.1:${leafPort}`);
    await hub.#write('nats-tls.conf', here);
    const authority = await Authority.create();
    const pair = await authority.issue({ commonName: 'hub', dnsNames: ['localhost'] }, 'server');
    await hub.#write('cert.pem', pair.certificate);
    await hub.#write('key.pem', pair.key);
    await hub.#write('ca.pem', authority.certificate);
    await hub.serve();
    return hub;
  }

  private constructor(folder: string, port: number, leafPort: number) {
    this.folder = folder;
    this.url = `tls://localhost:${port}`;
    this.ca = join(folder, 'ca.pem');
    this.leafPort = leafPort;
  }

  /** Gives a node a user at the hub; returns the environment in which its `kubus up` joins the hub. */
  async admit(node: string): Promise<Record<string, string>> {
    const { code, stderr } = await startCommand(join(this.folder, 'users.sh'), [this.#kept, node], {}).outcome;
    if (code !== 0) throw new Error(`users.sh: ${stderr}`);
    const server = this.#server;
    if (server?.child.exitCode === null) {
      const reloads = () => server.written.stderr.split('Reloaded server configuration').length;
      const before = reloads();
      server.child.kill('SIGHUP');
      await poll('the reload of the hub', () => Promise.resolve(reloads() > before || undefined));
    }
    return {
      KUBUS_HUB: `tls://localhost:${this.leafPort}`,
      KUBUS_HUB_CA: this.ca,
      KUBUS_HUB_CREDENTIALS: this.credentials(node),
    };
  }

  get #kept(): string {
    return join(this.folder, 'kept');
  }

  /** The file with the user and password of a node, or of `reader`. */
  credentials(user: string): string {
    return join(this.#kept, `${user}.credentials`);
  }

  async password(user: string): Promise<string> {
    return (await readFile(this.credentials(user), 'utf8')).trim().split(':')[1] ?? '';
  }

  /** Starts the server, with the streams that it had before. */
  async serve(): Promise<void> {
    const { folder } = this;
    const pair = { TLS_CERT: join(folder, 'cert.pem'), TLS_KEY: join(folder, 'key.pem') };
    const server = startCommand(join(folder, 'start.sh'), [this.#kept], pair);
    this.#server = server;
    await poll('the hub', () => {
      if (server.child.exitCode !== null) throw new Error(`the hub has ended: ${server.written.stderr}`);
      return Promise.resolve(server.written.stderr.includes('Server is ready') || undefined);
    });
  }

  async kill(): Promise<void> {
    await this.#server?.end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Connects as a reader of the events. */
  async connect(): Promise<NatsConnection> {
    const user = 'reader';
    return connect({ servers: this.url, user, pass: await this.password(user), tls: { caFile: this.ca } });
  }

  async #write(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text, { mode: 0o600 });
  }
}
