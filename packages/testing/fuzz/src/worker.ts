import { workerData, parentPort } from 'node:worker_threads';
import { Random } from '@kubus/ports';
import { type Target, fuzz } from './fuzz.ts';
import { LONGEST } from './mutate.ts';
import { targets } from './targets.ts';

/** What the main thread starts a worker with. */
export interface Work {
  readonly targets: readonly { readonly name: string; readonly seeds: readonly Uint8Array[] }[];
  readonly seconds: number;
  readonly seed: number;
  /** Count of inputs, length of the present one, and its bytes. */
  readonly shared: SharedArrayBuffer;
}

/** Bytes before the input in the shared memory. */
export const HEAD = 8;

if (parentPort !== null) {
  const work = workerData as Work;
  const numbers = new Int32Array(work.shared, 0, 2);
  const bytes = new Uint8Array(work.shared, HEAD, LONGEST);
  const begins = (input: Buffer) => {
    bytes.set(input.subarray(0, LONGEST));
    numbers[1] = input.length;
    Atomics.add(numbers, 0, 1);
  };
  for (const { name, seeds } of work.targets) {
    const options = { seeds: seeds.map((one) => Buffer.from(one)), random: new Random(work.seed), begins };
    parentPort.postMessage(
      await fuzz(targets[name] as Target, { ...options, until: performance.now() + work.seconds * 1000 }),
    );
  }
}
