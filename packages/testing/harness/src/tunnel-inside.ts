// Runs in a node's network namespace. Each connection to the unix socket names a TCP port of the namespace's loopback in
// its first line; from then on the two are joined. Ends when its standard input ends, and so with the test that started it.
import { type Socket, connect, createServer } from 'node:net';

const [path = ''] = process.argv.slice(2);

const server = createServer((outside) => {
  outside.on('error', () => outside.destroy());
  let head = '';
  const onData = (chunk: Buffer) => {
    // Latin 1 keeps every byte, also of what follows the first line.
    head += chunk.toString('latin1');
    const end = head.indexOf('\n');
    if (end === -1) return;
    outside.off('data', onData);
    outside.pause();
    join(outside, Number(head.slice(0, end)), Buffer.from(head.slice(end + 1), 'latin1'));
  };
  outside.on('data', onData);
});
server.listen(path, () => process.stdout.write('listening\n'));
process.stdin.once('end', () => process.exit()).resume();

function join(outside: Socket, port: number, first: Buffer): void {
  const inside = connect({ host: '127.0.0.1', port });
  inside.on('error', () => outside.destroy());
  inside.once('close', () => outside.destroy());
  outside.once('close', () => inside.destroy());
  inside.write(first);
  outside.pipe(inside).pipe(outside);
}
