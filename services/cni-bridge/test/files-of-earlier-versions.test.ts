import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type LogFields, silentLogger } from '@kubus/ports';
import { FileRecordStore, JournalRecordStore } from '@kubus/service-kit';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeOverFiles } from '../src/crash-recovery/files-of-earlier-versions.ts';
import { recordsIn } from './journal-file.ts';

let dir: string;
let folder: string;
let file: string;
let journal: JournalRecordStore;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-cni-files-'));
  folder = join(dir, 'attachments');
  file = join(dir, 'attachments.jsonl');
  journal = new JournalRecordStore({ path: file, logger: silentLogger });
});
afterEach(() => {
  journal.close();
  rmSync(dir, { recursive: true });
});

async function writeFiles(records: Record<string, unknown>): Promise<void> {
  const files = new FileRecordStore({ dir: folder, logger: silentLogger });
  for (const [key, value] of Object.entries(records)) await files.put(key, value);
}

test('moves each file into the journal and removes the folder', async () => {
  await writeFiles({ 'c1:eth0': { state: 'added' }, 'c2:eth0': { state: 'adding' } });
  await takeOverFiles(folder, journal, silentLogger);
  expect(Object.fromEntries(recordsIn(file))).toEqual({
    'c1:eth0': { state: 'added' },
    'c2:eth0': { state: 'adding' },
  });
  expect(readdirSync(dir)).toEqual(['attachments.jsonl']);
});

test('finishes what a crash has interrupted, and an earlier version has changed since', async () => {
  await journal.put('c1:eth0', { state: 'adding' });
  await journal.put('c3:eth0', { state: 'added' });
  await writeFiles({ 'c1:eth0': { state: 'added' }, 'c2:eth0': { state: 'added' } });
  await takeOverFiles(folder, journal, silentLogger);
  expect([...recordsIn(file).keys()].sort()).toEqual(['c1:eth0', 'c2:eth0', 'c3:eth0']);
  expect(recordsIn(file).get('c1:eth0')).toEqual({ state: 'added' });
  expect(existsSync(folder)).toBe(false);
});

test('reports a file that cannot be read, each time, and leaves it', async () => {
  await writeFiles({ 'c1:eth0': { state: 'added' } });
  const path = join(folder, 'c2=3Aeth0.json');
  writeFileSync(path, '{"state":');
  const errors: LogFields[] = [];
  const logger = { ...silentLogger, error: (fields: LogFields) => errors.push(fields) };
  await takeOverFiles(folder, journal, logger);
  await takeOverFiles(folder, journal, logger);
  expect(errors).toEqual([1, 2].map(() => ({ path, err: expect.any(SyntaxError) })));
  expect([...recordsIn(file).keys()]).toEqual(['c1:eth0']);
  expect(readdirSync(folder)).toEqual(['c2=3Aeth0.json']);
});

test('keeps the files when the journal cannot be written', async () => {
  await writeFiles({ 'c1:eth0': { state: 'added' } });
  const missing = join(dir, 'missing');
  const refusing = new JournalRecordStore({ path: join(missing, 'attachments.jsonl'), logger: silentLogger });
  rmSync(missing, { recursive: true });
  await expect(takeOverFiles(folder, refusing, silentLogger)).rejects.toThrow(missing);
  expect(readdirSync(folder)).toEqual(['c1=3Aeth0.json']);
});
