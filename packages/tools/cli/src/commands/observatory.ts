import { nodeDir, observatorySocket, readSettings } from '@kubus/launcher';
import { setTimeout as delay } from 'node:timers/promises';
import { silentLogger } from '@kubus/ports';
import { systemIds, version } from '@kubus/service-kit';
import { type Command, InvalidArgumentError } from 'commander';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type Answer, listenGuarded } from '../observatory/guarded-server.ts';
import { observatoryPage, publishedContract } from '../observatory/page-files.ts';
import { noSuchNode, upCommand } from '../node/no-such-node.ts';
import { UserError } from '../user-error.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';

const DEFAULT_PORT = 8470;
const TOKEN_BYTES = 32;

/** How long the observatory of a node that has just been started may take until it listens, and how often that is looked at, in milliseconds. */
const COMES_MS = 10_000;
const LOOK_MS = 50;

interface ObservatoryOptions {
  readonly port: number;
  readonly output?: 'json' | 'yaml';
}

export function addObservatory(program: Command): void {
  program
    .command('observatory')
    .argument('[files...]', 'show these exported recordings instead of the node')
    .option('--port <number>', 'TCP port on 127.0.0.1; 0: any free port', portNumber, DEFAULT_PORT)
    .addOption(outputOption())
    .description('serve a web page with the node’s messages, their causes and their timing')
    .action(async (files: string[], options: ObservatoryOptions, command: Command) => {
      const { node } = command.optsWithGlobals<{ node: string }>();
      await serve(options, files.length > 0 ? await filesAnswer(files) : await nodeAnswer(node));
    });
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port < 65_536) return port;
  throw new InvalidArgumentError('must be a TCP port, 0 to 65535');
}

/** Serves until SIGINT or SIGTERM. */
async function serve({ port: wanted, output }: ObservatoryOptions, answer: Answer): Promise<void> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const { server, port } = await listenGuarded(wanted, token, answer).catch((error: unknown) => {
    throw new UserError(`cannot listen on 127.0.0.1:${wanted} (${String(error)}): choose another TCP port with --port`);
  });
  const address = `http://127.0.0.1:${port}/#token=${token}`;
  if (output === undefined) print(address);
  else printKubusDocument('ObservatoryAddress', { address }, output);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  server.close();
  server.closeAllConnections();
}

async function filesAnswer(files: readonly string[]): Promise<Answer> {
  // Imported only here: it contains a web server, which no other command needs.
  const { FileRecordings, Threads, createApp } = await import('@kubus/observatory');
  const threads = new Threads();
  const recordings = new FileRecordings(files, threads);
  const app = await createApp({
    ...{ recordings, threads, version, page: observatoryPage, contract: publishedContract },
    ...{ ids: systemIds, logger: silentLogger },
  });
  return (incoming, response) => app.routing(incoming, response);
}

/** Forwards every request to the observatory's socket of the node. */
async function nodeAnswer(node: string): Promise<Answer> {
  const dir = nodeDir(node);
  const socketPath = observatorySocket(dir);
  if (!existsSync(dir.root)) throw noSuchNode(node, '--observatory');
  const isComing = (await readSettings(dir))?.observatory === true;
  // Its socket comes a moment after the node.
  for (const end = Date.now() + COMES_MS; isComing && !existsSync(socketPath) && Date.now() < end;)
    await delay(LOOK_MS);
  if (!existsSync(socketPath) && !isComing) {
    throw new UserError(
      `node ${node} has no observatory: give it one with ${upCommand(node, '--restart --observatory')}, or name exported recordings`,
    );
  }
  // Connections stay open: a server that closes one with its answer can make Node.js fail an empty last write, and lose the answer.
  const agent = new Agent({ keepAlive: true });
  return (incoming, response) => {
    const { method, url: path } = incoming;
    // The observatory itself does not use the token, and does not get it.
    const { authorization: _token, connection: _connection, ...headers } = incoming.headers;
    const asking = request({ socketPath, method, path, headers, agent });
    asking.on('response', (answer) => {
      const { connection: _own, ...kept } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, kept);
      // Send the headers at once: a stream of events may have no body for a long time.
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
