import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const program = fileURLToPath(new URL('asking-program.ts', import.meta.url));

test('a launcher without file descriptors for asking takes no service for stuck', async () => {
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { stdout } = await promisify(execFile)('prlimit', [
    '--nofile=100',
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    program,
    `127.0.0.1:${port}`,
  ]);
  server.close();
  expect(JSON.parse(stdout)).toEqual({ taken: true, stuck: [] });
}, 60_000);
