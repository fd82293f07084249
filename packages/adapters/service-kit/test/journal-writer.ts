// Changes records of a journal until it is killed, and reports each change: journal-writer.ts PATH
import { silentLogger } from '@kubus/ports';
import { writeSync } from 'node:fs';
import { JournalRecordStore } from '../src/index.ts';

const store = new JournalRecordStore({ path: process.argv[2] ?? '', logger: silentLogger });
for (let number = 1; ; number++) {
  // Large enough that every third change writes the file anew.
  await store.put('pod/a', { number, text: String(number % 10).repeat(100_000) });
  writeSync(1, `${JSON.stringify({ number })}\n`);
}
