// Watches the health that it is given the address of; after the first answer it takes all its file descriptors for some looks. Prints who was stuck.
import { closeSync, openSync } from 'node:fs';
import { LivenessWatch } from '../src/processes/liveness-watch.ts';

const [address = ''] = process.argv.slice(2);
const stuck: string[] = [];
const taken: number[] = [];
let looks = 0;
// The watch does not keep the process alive.
const alive = setInterval(() => undefined, 1_000);
const watch = new LivenessWatch({
  ...{ everyMs: 20, soonMs: 20, answerMs: 5_000 },
  stuck: ({ what }, reason) => void stuck.push(`${what}: ${reason}`),
  processes: () => {
    looks += 1;
    if (looks === 3) takeAll();
    if (looks === 8) for (const one of taken) closeSync(one);
    if (looks === 10) {
      watch.stop();
      clearInterval(alive);
      console.log(JSON.stringify({ taken: taken.length > 0, stuck }));
    }
    return [{ what: 'prober-0', pid: process.pid, http: [address], isPaused: false }];
  },
});
watch.start();

function takeAll(): void {
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    // There are no more.
  }
}
