// Ends as its argument says, while threads of the engine are at work: `code N`, after it has written a megabyte, or `stop-fails`.
import { endAfter, endProcess } from '../src/index.ts';

const [how, code] = process.argv.slice(2);
let garbage: object[] = [];
setInterval(() => {
  garbage = Array.from({ length: 20_000 }, (_, index) => ({ index }));
}, 1);
process.on('exit', () => console.log(JSON.stringify({ left: garbage.length })));
if (how === 'code') {
  console.log(JSON.stringify({ text: 'x'.repeat(1_000_000) }));
  console.log(JSON.stringify({ last: true }));
  await endProcess(Number(code));
} else {
  const stopping = Promise.reject(new Error('no way'));
  await endAfter(stopping, (error) => console.log(JSON.stringify({ failed: String(error) })));
}
