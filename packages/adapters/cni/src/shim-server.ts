import type { Stats } from 'node:fs';
import { chmod, lstat, mkdir, rm, stat } from 'node:fs/promises';
import { type Server, type Socket, connect, createServer } from 'node:net';
import { dirname } from 'node:path';
import { type Invocation, type PluginOutput } from '@kubus/cni-config';
import { KubusError, type Logger, hasErrno, toError } from '@kubus/ports';
import { type Field, FrameReader } from './frame.ts';
import type { ProgramRunner } from './program.ts';
import { ShimLink } from './shim-link.ts';
import { encodeAnswer, readRequest, runsPrograms } from './shim-messages.ts';

export interface ShimServerOptions {
  /** Path of the unix socket. Its folder is created if it is missing; it must have mode 0700. */
  readonly socketPath: string;
  /**
   * Handles a call of the runtime. It must not throw: a failure is an answer too. `shim` runs programs while the caller
   * waits; an older shim does not.
   */
  readonly handle: (invocation: Invocation, shim?: ProgramRunner) => Promise<PluginOutput>;
  readonly logger: Logger;
  /** Milliseconds within which a caller must send its complete request. Default: 10 s. */
  readonly requestTimeoutMs?: number;
}

/** The kernel's limit for the path of a unix socket (bytes), without the final zero. */
const MAX_SOCKET_PATH = 107;

/**
 * Thrown when the socket cannot be served: its path is too long or in use, its folder is accessible to others, or another
 * process serves it.
 */
export class ShimSocketError extends KubusError {
  constructor(socketPath: string, problem: string) {
    super('ShimSocketUnusable', `${socketPath}: ${problem}`, { context: { socketPath } });
  }
}

/** Serves the shim's calls on a unix socket; protocol in ../README.md. */
export class ShimServer {
  readonly #options: ShimServerOptions;
  readonly #connections = new Set<Socket>();
  #server: Server | undefined;

  constructor(options: ShimServerOptions) {
    this.#options = options;
  }

  /**
   * Starts to serve calls. An abandoned socket is replaced.
   *
   * @throws ShimSocketError when the path cannot be used.
   */
  async listen(): Promise<void> {
    const { socketPath, logger } = this.#options;
    if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH) {
      throw new ShimSocketError(socketPath, `is longer than ${MAX_SOCKET_PATH} bytes`);
    }
    await requirePrivateFolder(socketPath);
    await removeStaleSocket(socketPath);
    const server = createServer({ allowHalfOpen: true }, (connection) => this.#serve(connection));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(socketPath, resolve);
    });
    server.on('error', (error) => logger.error({ err: error, socketPath }, 'the shim socket failed'));
    await chmod(socketPath, 0o600);
    this.#server = server;
  }

  /** Stops serving and ends the connections; shims that wait for an answer call the next server. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      this.#connections.forEach((connection) => connection.destroy());
      await closed;
    }
  }

  #serve(connection: Socket): void {
    const { logger, requestTimeoutMs = 10_000 } = this.#options;
    const reader = new FrameReader();
    const link = new ShimLink(connection);
    let taken = false;
    let begun = false;
    this.#connections.add(connection);
    connection.setTimeout(requestTimeoutMs, () => connection.destroy(new Error('no complete request in time')));
    connection.on('data', (part) => {
      begun = true;
      try {
        if (taken) {
          link.take(part);
          return;
        }
        const fields = reader.push(part);
        if (fields !== undefined) {
          taken = true;
          connection.setTimeout(0);
          this.#answer(connection, link, fields);
        }
      } catch (error) {
        connection.destroy(toError(error));
      }
    });
    connection.on('end', () => {
      link.lose('it has ended');
      // Without a single byte it only asks whether somebody listens.
      if (!taken) connection.destroy(begun ? new Error('the connection ended before the request') : undefined);
    });
    connection.on('error', (error) => logger.warn({ err: error }, 'a connection to the shim socket failed'));
    connection.on('close', () => {
      link.lose('the connection to it ended');
      this.#connections.delete(connection);
    });
  }

  #answer(connection: Socket, link: ShimLink, request: readonly Field[]): void {
    const { handle, logger } = this.#options;
    const invocation = readRequest(request);
    handle(invocation, runsPrograms(request) ? link : undefined)
      .then(async (output) => {
        await link.idle();
        connection.end(encodeAnswer(output));
      })
      .catch((error: unknown) => {
        // The shim calls again, which is better than a wrong answer.
        logger.error(
          { err: toError(error), command: invocation.command },
          'a call of the runtime could not be answered',
        );
        connection.destroy();
      });
  }
}

/** Between bind and chmod of the socket only its folder keeps others out. An existing folder is not changed. */
async function requirePrivateFolder(socketPath: string): Promise<void> {
  const folder = dirname(socketPath);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { mode } = await stat(folder);
  if ((mode & 0o077) !== 0) {
    throw new ShimSocketError(socketPath, `its folder has mode ${(mode & 0o777).toString(8)}; it must be 700`);
  }
}

async function removeStaleSocket(socketPath: string): Promise<void> {
  const found = await lstatIfThere(socketPath);
  if (found === undefined) {
    return;
  }
  if (!found.isSocket()) {
    throw new ShimSocketError(socketPath, 'exists and is not a socket');
  }
  if (await isServed(socketPath)) {
    throw new ShimSocketError(socketPath, 'another process serves it');
  }
  await rm(socketPath, { force: true });
}

async function lstatIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isServed(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socketPath);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    // A full queue of connections (EAGAIN) means a server too.
    probe.once('error', (error) => resolve(!hasErrno(error, 'ECONNREFUSED', 'ENOENT')));
  });
}
