// Claims a slot, reports it, counts further epochs, and keeps the slot until it is killed: slot-holder.ts DIR SLOT EPOCHS
import { KubusError } from '@kubus/ports';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { claimSlot } from '../src/index.ts';

const [dir = '', number, epochs] = process.argv.slice(2);

/** References the slot only during the call. */
function claim(): { epoch: number; further: number[] } {
  const slot = claimSlot(dir, Number(number));
  return { epoch: slot.epoch, further: Array.from({ length: Number(epochs) }, () => slot.nextEpoch()) };
}

try {
  const claimed = claim();
  console.log(JSON.stringify(claimed));
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let round = 0; round < 3; round++) {
    collect();
    await setImmediate();
  }
  console.log(JSON.stringify({ epoch: claimed.epoch, collected: true }));
  process.stdin.resume();
} catch (error) {
  if (!(error instanceof KubusError)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
