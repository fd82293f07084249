// Servers in the network namespace that stands for the machine's: HTTP on the addresses of the arguments, and DNS on 127.0.0.53, which answers
// every question with 203.0.113.2; one for a name that begins with "big" only over TCP. Prints a line when all listen.
import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { createServer as createHttp } from 'node:http';
import { createServer } from 'node:net';

const DNS = '127.0.0.53';

/** The answer of RFC 1035: the question, and an address for its name. */
function answer(query, overTcp) {
  const truncated = !overTcp && query.subarray(13, 16).toString() === 'big';
  const header = Buffer.from([
    query[0],
    query[1],
    truncated ? 0x83 : 0x81,
    0x80,
    0,
    1,
    0,
    truncated ? 0 : 1,
    0,
    0,
    0,
    0,
  ]);
  const question = query.subarray(12, query.indexOf(0, 12) + 5);
  const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 203, 0, 113, 2]);
  return Buffer.concat(truncated ? [header, question] : [header, question, record]);
}

const udp = createSocket('udp4');
udp.on('message', (query, { port, address }) => udp.send(answer(query, false), port, address));
udp.bind(53, DNS);
await once(udp, 'listening');
const tcp = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', (data) => {
    const text = answer(data.subarray(2), true);
    socket.end(Buffer.concat([Buffer.from([text.length >> 8, text.length & 255]), text]));
  });
});
await once(tcp.listen(53, DNS), 'listening');
for (const where of process.argv.slice(2)) {
  const [host, port] = where.split(' ');
  const server = createHttp((_, response) => response.end(`answer of ${where}`));
  await once(server.listen(Number(port), host), 'listening');
}
console.log('ready');
