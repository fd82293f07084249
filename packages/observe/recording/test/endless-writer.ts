import { RecordingWriter } from '../src/index.ts';
import { EPOCH, made } from './made-messages.ts';

/** Writes batches until it is killed; reports its progress after each. */
const [, , path = ''] = process.argv;
const meta = { name: 'one', node: 'node0', version: '1', state: 'recording', began: EPOCH } as const;
const writer = RecordingWriter.create(path, meta, { contract: '1' });
for (let seq = 1; ;) {
  const batch = Array.from({ length: 50 }, () => made({ seq: seq++, number: seq - 1, data: 'x'.repeat(300) }));
  writer.append(batch);
  process.stdout.write(`${seq - 1}\n`);
}
