import { silentLogger } from '@kubus/ports';
import { RecordingReader, RecordingWriter } from '@kubus/recording';
import { type SimulatedService, runSchedule } from '@kubus/simulation';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredMessage } from '../src/index.ts';

/** The services of the simulation that keep journals. */
export const journaled: readonly SimulatedService[] = ['config-sources', 'sync-loop', 'pod-workers'];

/** Every message of a node whose services are killed by a seeded schedule, in the order of the broker. */
export async function recordSchedule(seed: number): Promise<StoredMessage[]> {
  const messages: StoredMessage[] = [];
  const { violations } = await runSchedule({
    seed,
    logger: silentLogger,
    journaled,
    record: (message) => messages.push({ seq: messages.length + 1, message }),
  });
  if (violations.length > 0) throw new Error(`seed ${seed} goes wrong: ${JSON.stringify(violations)}`);
  return messages;
}

/** The same messages as a recording in a file, which is removed afterwards. */
export async function inFile<T>(
  messages: readonly StoredMessage[],
  use: (reader: RecordingReader) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'kubus-replay-'));
  try {
    const meta = { name: 'schedule', node: 'node0', version: '1', state: 'recording', began: 0 } as const;
    const writer = RecordingWriter.create(join(folder, 'schedule.kubus'), meta, { contract: '1' });
    writer.append(messages.map((one) => ({ ...one, stored: one.seq })));
    writer.close();
    const reader = new RecordingReader(writer.path);
    try {
      return await use(reader);
    } finally {
      reader.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
