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

  /** The environment in which `kubus up` joins the hub. */
  get ofNode(): Record<string, string> {
    return {
      KUBUS_HUB: `tls://localhost:${this.leafPort}`,
      KUBUS_HUB_CA: this.ca,
      KUBUS_HUB_CREDENTIALS: this.credentials('node'),
    };
  }

  credentials(user: 'node' | 'reader'): string {
    return join(this.folder, 'kept', `${user}.credentials`);
  }

  async password(user: 'node' | 'reader'): Promise<string> {
    return (await readFile(this.credentials(user), 'utf8')).trim().split(':')[1] ?? '';
  }

  /** Starts the server, with the streams that it had before. */
  async serve(): Promise<void> {
    const { folder } = this;
    const args = [join(folder, 'kept'), join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const server = startCommand(join(folder, 'start.sh'), args, {});
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
