// Writes records until it is killed, and reports each one: record-writer.ts DIR
import { silentLogger } from '@kubus/ports';
import { writeSync } from 'node:fs';
import { FileRecordStore } from '../src/index.ts';

const store = new FileRecordStore({ dir: process.argv[2] ?? '', logger: silentLogger });
for (let number = 1; ; number++) {
  await store.put('pod/a', { number, text: String(number).repeat(400_000) });
  writeSync(1, `${JSON.stringify({ number })}\n`);
}
