import { RecordingReader, importRecording } from '@kubus/recording';
import { serviceContracts } from '@kubus/contracts';
import { rmSync, writeFileSync } from 'node:fs';
import { scratch } from './scratch.ts';

/** Imports the bytes as a recording and reads all that the page shows. */
export function readRecording(bytes: Buffer): void {
  const [given, imported] = [scratch('given'), scratch('imported')];
  rmSync(imported, { force: true });
  writeFileSync(given, bytes);
  importRecording(given, imported, { name: 'one' });
  const reader = new RecordingReader(imported);
  try {
    reader.document();
    for (const { uid } of reader.pods()) reader.podMessages(uid);
    for (const { seq } of reader.messages({}, 50)) reader.effects(seq, 10);
    for (const what of ['start', 'stop'] as const) Array.from(reader.paths(what));
    reader.serviceMap(serviceContracts);
    reader.density(10);
  } finally {
    reader.close();
  }
}
