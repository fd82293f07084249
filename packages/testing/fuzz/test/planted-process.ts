// An error behind three conditions, which is found only step by step: prints its input. node planted-process.ts SEED
import { Random } from '@kubus/ports';
import { fuzz } from '../src/fuzz.ts';

const options = {
  seeds: [Buffer.from('seed')],
  random: new Random(Number(process.argv[2])),
  until: performance.now() + 120_000,
  watched: /planted-process\.ts$/,
};

function read(bytes: Buffer): void {
  if (bytes[0] !== 0x4b) return;
  if (bytes[1] !== 0x75) return;
  if (bytes[2] !== 0x62) return;
  options.until = 0;
  throw new TypeError('found');
}

const { findings } = await fuzz({ about: 'a planted error', read }, options);
for (const { input, error } of findings) console.log(input.toString('latin1', 0, 3), error);
