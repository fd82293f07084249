import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SlotTaken, claimSlot } from '../src/index.ts';
import { TestProcess } from './test-process.ts';

/** Starting processes takes long on a busy machine. */
const LIMIT_MS = 180_000;

let dir: string;
let started: TestProcess[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-slot-'));
  started = [];
});
afterEach(async () => {
  await Promise.all(started.map((child) => child.kill()));
  await rm(dir, { recursive: true });
});

function holder(slot: number, epochs = 0): TestProcess {
  const child = new TestProcess('slot-holder.ts', [dir, String(slot), String(epochs)]);
  started.push(child);
  return child;
}

const claimed = (line: Record<string, unknown>) => 'epoch' in line;

test(
  'a slot locked by another process is refused until that process ends',
  async () => {
    const first = holder(0);
    const { epoch } = await first.line(claimed);
    await expect(holder(0).line(() => true)).resolves.toEqual({
      code: 'slot-taken',
      message: `slot 0 in ${dir} is locked by another process`,
    });
    expect(() => claimSlot(dir, 0)).toThrow(SlotTaken);

    await first.kill();
    const second = claimSlot(dir, 0);
    expect(second.epoch).toBeGreaterThan(Number(epoch));
    expect(() => claimSlot(dir, 0)).toThrow(SlotTaken);
    second.release();
    const third = claimSlot(dir, 0);
    expect(third.epoch).toBeGreaterThan(second.epoch);
    third.release();
  },
  LIMIT_MS,
);

test(
  'instances that start at the same time never get the same epoch',
  async () => {
    const lines = await Promise.all([0, 1, 2].map((slot) => holder(slot, 50).line(claimed)));
    const epochs = lines.map(({ epoch, further }) => [Number(epoch), ...(further as number[])]);
    for (const own of epochs) expect(own).toEqual([...own].sort((a, b) => a - b));
    const all = epochs.flat();
    expect(new Set(all).size).toBe(all.length);
    const next = claimSlot(dir, 3);
    expect(next.epoch).toBe(Math.max(...all) + 1);
    expect(next.nextEpoch()).toBe(next.epoch + 1);
    next.release();
  },
  LIMIT_MS,
);

test(
  'a slot stays locked after garbage collection when no code refers to it',
  async () => {
    const { epoch } = await holder(0, 0).line(({ collected }) => collected === true);
    expect(epoch).toBe(1);
    await expect(holder(0).line(() => true)).resolves.toMatchObject({ code: 'slot-taken' });
  },
  LIMIT_MS,
);

test('an unusable state folder is named, and the slot is freed', async () => {
  await writeFile(join(dir, 'file'), '');
  expect(() => claimSlot(join(dir, 'file'), 0)).toThrow(join(dir, 'file'));

  await mkdir(join(dir, 'epoch.db'));
  expect(() => claimSlot(dir, 0)).toThrow(`the state folder cannot be used: ${join(dir, 'epoch.db')}`);
  await rm(join(dir, 'epoch.db'), { recursive: true });
  claimSlot(dir, 0).release();

  await writeFile(join(dir, 'slot-1.lock'), 'x'.repeat(4096));
  expect(() => claimSlot(dir, 1)).toThrow(/the state folder cannot be used: .*not a database/);
});
