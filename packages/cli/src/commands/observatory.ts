import { nodeDir, observatorySocket } from '@kubus/launcher';
import { silentLogger } from '@kubus/ports';
import { systemIds, version } from '@kubus/service-kit';
import { type Command, InvalidArgumentError } from 'commander';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type Answer, listenGuarded } from '../observatory/guarded-server.ts';
import { observatoryPage, publishedContract } from '../observatory/page-files.ts';
import { UserError } from '../user-error.ts';

const DEFAULT_PORT = 8470;
const TOKEN_BYTES = 32;

export function addObservatory(program: Command): void {
  program
    .command('observatory')
    .argument('[files...]', 'recordings that are looked at in the place of a node')
    .option('--port <number>', 'of this machine’s loopback; 0: any that is free', portNumber, DEFAULT_PORT)
    .description('show what the node’s services say, what led to what and how long it took, as a page')
    .action(async (files: string[], { port }: { port: number }, command: Command) => {
      const { node } = command.optsWithGlobals<{ node: string }>();
      await serve(port, files.length > 0 ? await filesAnswer(files) : nodeAnswer(node));
    });
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port < 65_536) return port;
  throw new InvalidArgumentError('It must be a number from 0 to 65535.');
}

/** Serves until it is interrupted. */
async function serve(wanted: number, answer: Answer): Promise<void> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const { server, port } = await listenGuarded(wanted, token, answer).catch((error: unknown) => {
    throw new UserError(`port ${wanted} can not be listened on (${String(error)}): choose another one by --port`);
  });
  console.log(`http://127.0.0.1:${port}/#token=${token}`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  server.close();
  server.closeAllConnections();
}

async function filesAnswer(files: readonly string[]): Promise<Answer> {
  // Only here: every other command would load a web server.
  const { FileRecordings, Threads, createApp } = await import('@kubus/observatory');
  const threads = new Threads();
  const recordings = new FileRecordings(files, threads);
  const app = await createApp({
    ...{ recordings, threads, version, page: observatoryPage, contract: publishedContract },
    ...{ ids: systemIds, logger: silentLogger },
  });
  return (incoming, response) => app.routing(incoming, response);
}

/** Hands everything on to the node's socket. */
function nodeAnswer(node: string): Answer {
  const dir = nodeDir(node);
  const socketPath = observatorySocket(dir);
  if (!existsSync(dir.root))
    throw new UserError(`node ${node} does not exist on this machine: start it with ./kubus up`);
  if (!existsSync(socketPath)) {
    throw new UserError(`node ${node} has no observatory: start it with ./kubus up --observatory, or name files`);
  }
  return (incoming, response) => {
    const { method, url: path } = incoming;
    // The token is of no use there, and is kept from it.
    const { authorization: _token, connection: _connection, ...headers } = incoming.headers;
    const asking = request({ socketPath, method, path, headers, agent: false });
    asking.on('response', (answer) => {
      const { connection: _own, ...told } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, told);
      // Otherwise nobody is told anything before there is much of it.
      response.flushHeaders();
      pipeline(answer, response).catch(() => asking.destroy());
    });
    asking.on('error', (error) => {
      if (response.headersSent) response.destroy();
      else {
        response.writeHead(503, { 'content-type': 'application/json' });
        const message = `the observatory of node ${node} does not answer: ${error.message}`;
        response.end(JSON.stringify({ error: { code: 'not-running', message } }));
      }
    });
    response.on('close', () => asking.destroy());
    pipeline(incoming, asking).catch(() => undefined);
  };
}
