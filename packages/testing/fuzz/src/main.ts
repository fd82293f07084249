// Feeds the parsers of foreign bytes with changed bytes: node src/main.ts [TARGET...] [--seconds N] [--seed N] [--keep]. See ../README.md.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { toError } from '@kubus/ports';
import type { Outcome } from './fuzz.ts';
import { LONGEST } from './mutate.ts';
import { targets } from './targets.ts';
import { HEAD, type Work } from './worker.ts';

/** An input that takes longer hangs the parser (milliseconds); a busy machine does not stop a thread for that long. */
const HANGS_MS = 20_000;
/** A thread's heap, in MB. */
const HEAP_MB = 512;

const seedsOf = (target: string) => join(import.meta.dirname, '../seeds', target);
const nameOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex').slice(0, 16);

async function readSeeds(target: string): Promise<Buffer[]> {
  const names = await readdir(seedsOf(target));
  return Promise.all(names.sort().map((name) => readFile(join(seedsOf(target), name))));
}

/**
 * Fuzzes targets one after the other in a thread, which is ended when an input takes for ever or all memory.
 *
 * @returns the outcome of each target, up to the one that was ended
 */
async function fuzzInThread(names: readonly string[], seconds: number, seed: number): Promise<Outcome[]> {
  const shared = new SharedArrayBuffer(HEAD + LONGEST);
  const numbers = new Int32Array(shared, 0, 2);
  const seeded = await Promise.all(names.map(async (name) => ({ name, seeds: await readSeeds(name) })));
  const workerData: Work = { targets: seeded, seconds, seed, shared };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const outcomes: Outcome[] = [];
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const lost = (error: string) => {
    const input = Buffer.from(new Uint8Array(shared, HEAD, Math.min(LONGEST, numbers[1] ?? 0)));
    outcomes.push({ inputs: numbers[0] ?? 0, blocks: 0, findings: [{ input, error }], corpus: [] });
    resolve(undefined);
  };
  let before = -1;
  const watch = setInterval(() => {
    const count = Atomics.load(numbers, 0);
    if (count === before && count > 0) lost(`no answer within ${HANGS_MS / 1000} s`);
    before = count;
  }, HANGS_MS);
  worker.on('message', (outcome: Outcome) => {
    outcomes.push(outcome);
    if (outcomes.length === names.length) resolve(undefined);
  });
  worker.once('error', (error) => lost(toError(error).stack ?? 'the thread has ended'));
  await promise;
  clearInterval(watch);
  await worker.terminate();
  return outcomes;
}

async function report(target: string, { inputs, blocks, findings, corpus }: Outcome): Promise<void> {
  const counts = `${inputs} inputs, ${blocks} blocks, ${corpus.length} seeds, ${findings.length} findings`;
  console.log(`${target}: ${counts} (--seed ${values.seed})`);
  for (const { input, error } of findings) {
    await mkdir(found, { recursive: true });
    const file = join(found, `${target}-${nameOf(input)}`);
    await writeFile(file, input);
    console.log(`${target}: ${file}: ${error}`);
    process.exitCode = 1;
  }
  if (values.keep) for (const input of corpus) await writeFile(join(seedsOf(target), nameOf(input)), input);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    keep: { type: 'boolean', default: false },
  },
});
const unknown = positionals.filter((name) => !(name in targets));
if (unknown.length > 0) throw new Error(`${unknown.join()}: no such target; there are ${Object.keys(targets).join()}`);

const found = process.env['KUBUS_FUZZ_FOUND'] ?? join(tmpdir(), 'kubus-fuzz');
// The threads, which are ended without being asked, have their files here.
const work = await mkdtemp(join(tmpdir(), 'kubus-fuzz-work-'));
process.env['TMPDIR'] = work;
for (let left = positionals.length > 0 ? positionals : Object.keys(targets); left.length > 0;) {
  const outcomes = await fuzzInThread(left, Number(values.seconds), Number(values.seed));
  for (const [at, outcome] of outcomes.entries()) await report(left[at] ?? '', outcome);
  left = left.slice(outcomes.length);
}
await rm(work, { recursive: true });
