import { ObjectServer } from '@kubus/object-cache/object-server';
import { ObjectClient } from '@kubus/object-socket';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { scratch } from './scratch.ts';

const account = { namespace: 'default', name: 'default' };
const config = { kind: 'ConfigMap', namespace: 'default', name: 'config', version: '7' } as const;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => silent } as never;

function ignore(): void {
  // Nothing is reported.
}

let server: Promise<ObjectServer> | undefined;
const socket = () => scratch('objects.sock');

/** One object, and an account without tokens. */
function open(): Promise<ObjectServer> {
  return ObjectServer.open(socket(), {
    objects: { read: ({ name }) => (name === 'config' ? ({ version: '7', text: '{}' } as never) : undefined) },
    tokens: { get: () => Promise.reject(new Error('none')), isHeld: () => true },
    serviceAccounts: { get: () => Promise.resolve(account as never) },
    logger: silent,
  });
}

/** Sends the bytes to object-cache's socket; it answers, or closes the connection, and then serves others. */
export async function askObjects(bytes: Buffer): Promise<void> {
  server ??= open();
  await server;
  const client = connect(socket());
  // A reset is an answer too.
  client.on('error', ignore).resume();
  const closed = new Promise((resolve) => client.once('close', resolve));
  client.end(bytes);
  await closed;
}

let answer: Buffer = Buffer.alloc(0);
let answering: Promise<unknown> | undefined;
const forged = () => scratch('forged.sock');

/** Reads an object from a socket that answers with these bytes. */
export async function answerObjects(bytes: Buffer): Promise<void> {
  answering ??= once(
    createServer((connection) => {
      connection.on('error', ignore).once('data', () => connection.end(answer));
    }).listen(forged()),
    'listening',
  );
  await answering;
  answer = bytes;
  await new ObjectClient(forged()).read(config);
}
