// Moves bytes over one stream and prints the duration in milliseconds. It is a separate process in the node's network, so that the path to
// every server is the same. The argument is a StreamJob as JSON.
import { ForwardedPort, RemoteCommand, SpdySession, type SpdyStream, type StreamClient } from '@kubus/node-client';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Duplex } from 'node:stream';

/** The address of a SPDY server. */
export interface StreamServer {
  readonly socketPath?: string;
  readonly port?: number;
  /** Bearer token; with it, TLS is used. */
  readonly token?: string;
}

export interface StreamJob {
  readonly server: StreamServer;
  /** Path of an exec request; with `podPort`, of a port forward request. */
  readonly path: string;
  readonly podPort?: number;
  readonly direction: 'out' | 'in';
  readonly bytes: number;
}

const BLOCK = Buffer.alloc(64 * 1024);

/** The stream of a job's bytes, and the stream on which the pod confirms that it has received them all. */
interface Connection {
  readonly data: SpdyStream;
  readonly answer: SpdyStream;
  close(): Promise<void>;
}

const job = JSON.parse(process.argv[2] ?? '') as StreamJob;
const connection = await open(job);
const { data, answer } = connection;
const begin = performance.now();
if (job.direction === 'in') await Promise.all([write(data, job.bytes), read(answer, 1)]);
else await read(data, job.bytes);
process.stdout.write(String(performance.now() - begin));
await connection.close();

async function open({ path, podPort, direction }: StreamJob): Promise<Connection> {
  const client: StreamClient = { upgrade: (_path, protocol) => upgrade(path, protocol) };
  if (podPort !== undefined) {
    const port = await ForwardedPort.open(client, { namespace: '', name: '' }, podPort);
    return { data: port.data, answer: port.data, close: () => port.close() };
  }
  const command = await RemoteCommand.open(client, path, { stdin: direction === 'in', tty: false });
  return { data: command.stdin ?? command.stdout, answer: command.stdout, close: () => command.close() };
}

function upgrade(path: string, protocol: string): Promise<SpdySession> {
  const { token, ...server } = job.server;
  const headers = {
    ...{ connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol },
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const options: RequestOptions = { host: '127.0.0.1', ...server, path, method: 'POST', headers, agent: false };
  return new Promise((resolve, reject) => {
    const asking = token === undefined ? request(options) : secureRequest({ ...options, rejectUnauthorized: false });
    asking.on('error', reject);
    asking.on('response', ({ statusCode = 0 }: IncomingMessage) => {
      reject(new Error(`${path} was answered with ${statusCode}`));
      asking.destroy();
    });
    asking.on('upgrade', (_answer: IncomingMessage, socket: Duplex, head: Buffer) => {
      resolve(new SpdySession(socket, head));
    });
    asking.end();
  });
}

async function write(stream: SpdyStream, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; left -= BLOCK.length) {
    const block = BLOCK.subarray(0, Math.min(left, BLOCK.length));
    await new Promise<void>((done, failed) => stream.write(block, (error) => (error ? failed(error) : done())));
  }
  stream.end();
}

async function read(stream: SpdyStream, bytes: number): Promise<void> {
  let left = bytes;
  await new Promise<void>((done, failed) => {
    stream.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left <= 0) done();
    });
    stream.once('close', () => failed(new Error(`the stream ended ${left} bytes too early`)));
  });
}
