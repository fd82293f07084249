import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { RecordingReader, RecordingWriter } from '../src/index.ts';
import { made } from './made-messages.ts';

test('a killed writer leaves everything that it has reported as written', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kubus-recording-'));
  try {
    const path = join(folder, 'one.kubus');
    const program = join(import.meta.dirname, 'endless-writer.ts');
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = 0;
    const lines = createInterface(child.stdout);
    lines.on('line', (line) => {
      said = Number(line);
      if (said >= 5_000) child.kill('SIGKILL');
    });
    await Promise.all([once(lines, 'close'), once(child, 'close')]);
    expect(said).toBeGreaterThanOrEqual(5_000);
    // The first process that opens it finds the unfinished state of the killed one.
    const writer = RecordingWriter.open(path);
    const { last = 0 } = writer;
    expect(last).toBeGreaterThanOrEqual(said);
    expect(last % 50).toBe(0);
    writer.append([made({ seq: last + 1, number: last + 1 })]);
    writer.close();
    const reader = new RecordingReader(path);
    expect(reader.count).toBe(last + 1);
    expect(reader.completeness()).toEqual({ droppedByBroker: 0, neverStored: 0, unreadable: 0 });
    expect([...reader.all()].map(({ seq }) => seq)).toEqual(Array.from({ length: last + 1 }, (_, index) => index + 1));
    reader.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});
