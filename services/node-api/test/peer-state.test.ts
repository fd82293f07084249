import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type AddressInfo, type Server, connect, createServer } from 'node:net';
import { peerReads, portsStillRead } from '../src/streams/peer-state.ts';

let server: Server;

beforeAll(async () => {
  server = createServer({ allowHalfOpen: true }).listen(0, '::');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
});

async function pair(host: string): Promise<{ here: Socket; there: Socket }> {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const here = connect({ host, port: (server.address() as AddressInfo).port, allowHalfOpen: true });
  const [there] = await accepted;
  here.on('error', () => undefined);
  there.on('error', () => undefined);
  return { here, there };
}

test.each(['127.0.0.1', '::1'])('an end reads until its process closes it, over %s', async (host) => {
  const { here, there } = await pair(host);
  expect(await peerReads(here)).toBe(true);
  here.end();
  await once(there.resume(), 'end');
  expect(await peerReads(here)).toBe(true);
  there.destroy();
  await poll('the end is closed', async () => ((await peerReads(here)) ? undefined : true));
  here.destroy();
});

const header = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const row = (local: string, remote: string, state: string) =>
  `   3: ${local} ${remote} ${state} 00000000:00000000 00:00000000\n`;

test.each([
  ['the end is not in the tables', '', true],
  ['established', row('0100007F:9C41', '0100007F:A000', '01'), true],
  ['it has received the other end’s end', row('0100007F:9C41', '0100007F:A000', '08'), true],
  ['closed, with bytes on their way', row('0100007F:9C41', '0100007F:A000', '04'), false],
  ['closed, all bytes have arrived', row('0100007F:9C41', '0100007F:A000', '05'), false],
  ['only the opposite end', row('0100007F:A000', '0100007F:9C41', '04'), true],
  [
    'two addresses with the same ports',
    row('0100007F:9C41', '0100007F:A000', '04') + row('0200007F:9C41', '0100007F:A000', '01'),
    true,
  ],
  [
    'a server of both families',
    row('0000000000000000FFFF00000100007F:9C41', '0000000000000000FFFF00000100007F:A000', '04'),
    false,
  ],
])('the kernel’s tables: %s', (_what, rows, reads) => {
  expect(portsStillRead(header + rows, 0x9c41, 0xa000)).toBe(reads);
});
