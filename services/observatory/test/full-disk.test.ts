import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { RecordingReader } from '@kubus/recording';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NodeRecordings, Threads } from '../src/index.ts';
import { message, numbers, openRecordings } from './recorded-node.ts';

let disk: string;
let recordings: NodeRecordings;
const threads = new Threads();
afterAll(() => threads.close());

beforeEach(() => {
  disk = mkdtempSync(join(tmpdir(), 'kubus-observatory-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'kubus-test', disk]);
  recordings = openRecordings(disk, threads);
});
afterEach(() => {
  recordings.close();
  // A thread that has read a recording may still have it open.
  execFileSync('umount', ['--lazy', disk]);
  rmSync(disk, { recursive: true });
});

const recorded = (name: string) => {
  const reader = new RecordingReader(recordings.path(name));
  const seqs = [...reader.all()].map(({ seq }) => seq);
  reader.close();
  return seqs;
};
const take = (from: number, to: number) => recordings.recorder.take(numbers(from, to).map((number) => message(number)));
const fill = () => {
  expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(8_000_000))).toThrow('ENOSPC');
};

test('a full disk ends no recording, is named, and nothing is missing when there is room again', async () => {
  const { recorder } = recordings;
  recorder.begin({ created: 'then', first: 1, last: 0 });
  await recordings.start('mine');
  take(1, 50);
  fill();
  let taken = 50;
  // What was written is written: the file beside the recording may have room for a few more.
  expect(() => {
    for (; taken < 2_000; taken += 50) take(taken + 1, taken + 50);
  }).toThrow();
  expect(recorder.problem).toMatch(/^the disk takes no more: nothing is recorded until there is room/);
  expect(recorder.recording).toEqual(['mine']);
  expect(() => recordings.start('other')).toThrow('make room');
  expect(existsSync(join(disk, 'state/recordings/other.kubus'))).toBe(false);
  await expect(recordings.stop('mine')).rejects.toThrow('make room');

  // A restart in the middle of it loses nothing of what was written either.
  recordings.close();
  recordings = openRecordings(disk, threads);
  expect(recorded('~live')).toEqual(numbers(1, taken));
  await expect(recordings.stop('mine')).rejects.toThrow('make room');
  rmSync(join(disk, 'filler'));
  const from = recordings.recorder.begin({ created: 'then', first: 1, last: 400 });
  take(from, taken + 300);
  expect(recordings.recorder.problem).toBeUndefined();
  for (const name of ['~live', 'mine']) expect(recorded(name)).toEqual(numbers(1, taken + 300));
  expect(await recordings.stop('mine')).toMatchObject({ state: 'complete', completeness: { droppedByBroker: 0 } });
});
