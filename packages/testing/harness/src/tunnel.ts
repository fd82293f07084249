import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type NodeDir, inNetworkNamespace, nodeMark } from '@kubus/launcher';
import { HarnessError } from './errors.ts';

const program = fileURLToPath(new URL('tunnel-inside.ts', import.meta.url));

/** Access from outside to servers on the loopback of a node's network namespace. */
export class Tunnel {
  readonly #child: ChildProcess;
  readonly #socket: string;
  readonly #servers: Server[] = [];
  readonly #open = new Set<Socket>();

  static async open(dir: NodeDir): Promise<Tunnel> {
    const socket = dir.socket('tunnel');
    const [command, ...args] = inNetworkNamespace(dir.networkNamespace, [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      program,
      socket,
    ]);
    // The mark makes it part of the node: removing the node ends it, too.
    const env = { ...process.env, [nodeMark]: dir.root };
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env });
    const ended = once(child, 'exit').then(() => {
      throw new HarnessError('TunnelEnded', `The tunnel into ${dir.networkNamespace} ended right after its start`);
    });
    await Promise.race([once(child.stdout, 'data'), ended]);
    ended.catch(() => undefined);
    return new Tunnel(child, socket);
  }

  private constructor(child: ChildProcess, socket: string) {
    this.#child = child;
    this.#socket = socket;
  }

  /** A connection to the TCP port inside. It closes when no process listens there. */
  connect(port: number): Socket {
    const socket = connect(this.#socket);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    socket.write(`${port}\n`);
    return socket;
  }

  /** Makes the TCP port inside reachable from outside; returns the port on the machine's loopback. */
  async expose(port: number): Promise<number> {
    const server = createServer((outside) => {
      const inside = this.connect(port);
      this.#open.add(outside);
      for (const [one, other] of [
        [inside, outside],
        [outside, inside],
      ] as const) {
        one.on('error', () => other.destroy());
        one.once('close', () => other.destroy());
      }
      outside.once('close', () => this.#open.delete(outside));
      outside.pipe(inside).pipe(outside);
    });
    this.#servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  /** GET of an HTTP address inside, such as a service's `127.0.0.1:41233/metrics`. */
  async get(address: string): Promise<{ status: number; body: string }> {
    const { port, pathname } = new URL(`http://${address}`);
    const createConnection = () => this.connect(Number(port));
    const asked = request({ path: pathname, headers: { host: address, connection: 'close' }, createConnection });
    asked.end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: await text(response) };
  }

  async close(): Promise<void> {
    for (const server of this.#servers) server.close();
    for (const socket of this.#open) socket.destroy();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await exited;
  }
}
