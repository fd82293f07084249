import { afterEach, beforeEach } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordingReader, RecordingWriter } from '../src/index.ts';
import { EPOCH } from './made-messages.ts';

/** A folder per test, removed after it. */
export let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-recording-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

export const meta = { name: 'one', node: 'node0', version: '1.2.3', state: 'recording', began: EPOCH } as const;

export function create(options: { after?: number; name?: string } = {}): RecordingWriter {
  const path = join(folder, `${options.name ?? 'one'}.kubus`);
  return RecordingWriter.create(path, meta, { contract: '1', ...options });
}

export function read<T>(path: string, look: (reader: RecordingReader) => T): T {
  const reader = new RecordingReader(path);
  try {
    return look(reader);
  } finally {
    reader.close();
  }
}

export const complete = { droppedByBroker: 0, neverStored: 0, unreadable: 0 };
