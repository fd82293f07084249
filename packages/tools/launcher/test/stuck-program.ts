// Serves its health at a port that it writes to a file, says in another one when it has answered, and is stuck in the way that its argument names: `loop`, `sick` (its checks fail) or not at all.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [file = '', how = ''] = process.argv.slice(2);
let asked = 0;
const server = createServer((_request, response) => {
  asked += 1;
  const checks = how === 'sick' && asked > 1 ? { 'file threads': 'no answer for 40 s' } : {};
  const ok = Object.keys(checks).length === 0;
  response.writeHead(ok ? 200 : 503).end(JSON.stringify({ ok, checks }));
  response.on('close', () => {
    writeFileSync(`${file}.answered`, String(asked));
    while (how === 'loop');
  });
});
if (how !== 'gentle') process.on('SIGTERM', () => undefined);
server.listen(0, '127.0.0.1', () => writeFileSync(file, String((server.address() as AddressInfo).port)));
