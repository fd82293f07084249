import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Authority } from '@kubus/certificates';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connectNats, createIdentity } from '../src/index.ts';

const { seed, publicKey } = createIdentity({ service: 'prober', instance: 'prober-0' });
const users = `authorization: { users: [{ nkey: ${publicKey} }] }`;
const servers: ChildProcess[] = [];
let folder: string;
let secured: number;
let plain: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-tls-'));
  const authority = await Authority.create();
  const pair = await authority.issue({ commonName: 'nats', addresses: ['127.0.0.1'] }, 'server');
  await writeFile(join(folder, 'ca.crt'), authority.certificate);
  await writeFile(join(folder, 'tls.crt'), pair.certificate);
  await writeFile(join(folder, 'tls.key'), pair.key, { mode: 0o600 });
  secured = await startServer('secured', `tls: { cert_file: "${folder}/tls.crt", key_file: "${folder}/tls.key" }`);
  plain = await startServer('plain', '');
});

afterAll(async () => {
  for (const server of servers) {
    server.kill('SIGKILL');
    await once(server, 'exit');
  }
  await rm(folder, { recursive: true });
});

/** Starts a server on a free port; resolves with the port. */
async function startServer(name: string, more: string): Promise<number> {
  const file = join(folder, `${name}.conf`);
  await writeFile(file, `host: 127.0.0.1\nport: -1\n${users}\n${more}\n`);
  const server = spawn('nats-server', ['--config', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  servers.push(server);
  for await (const line of createInterface({ input: server.stderr })) {
    const [, port] = /Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
    if (port !== undefined) {
      server.stderr.resume();
      return Number(port);
    }
  }
  throw new Error('nats-server ended');
}

const connect = (url: string) => connectNats({ servers: url, instance: 'prober-0', seed, once: true });

test('a client connects to a server with a trusted certificate', async () => {
  const index = fileURLToPath(new URL('../src/index.ts', import.meta.url));
  const script = `
    const { connectNats } = await import(${JSON.stringify(index)});
    const [servers, seed] = process.argv.slice(1);
    const connection = await connectNats({ servers, instance: 'prober-0', seed, once: true });
    await connection.flush();
    console.log('spoken');
    await connection.close();`;
  const args = ['--input-type=module', '--eval', script, `tls://127.0.0.1:${secured}`, seed];
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt') };
  expect((await promisify(execFile)(process.execPath, args, { env })).stdout).toBe('spoken\n');
});

test('a client does not connect to a server with an untrusted certificate', async () => {
  await expect(connect(`tls://127.0.0.1:${secured}`)).rejects.toThrow(/certificate/);
});

test('a client that requires TLS does not connect to a server without it', async () => {
  await expect(connect(`tls://127.0.0.1:${plain}`)).rejects.toThrow(/tls/);
  const connection = await connect(`nats://127.0.0.1:${plain}`);
  await connection.close();
});
