import { type Logger, type RecordStore, ignoring } from '@kubus/ports';
import { FileRecordStore } from '@kubus/service-kit';
import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';

/**
 * Moves the records that an earlier version kept in one file each, in `folder`, into the journal. A crash in between
 * loses none: the next call moves the rest. Files that cannot be read are reported by name and stay.
 */
export async function takeOverFiles(folder: string, journal: RecordStore, logger: Logger): Promise<void> {
  if (!existsSync(folder)) return;
  const files = new FileRecordStore({ dir: folder, logger });
  const records = [...(await files.load())];
  await Promise.all(records.map(([key, value]) => journal.put(key, value)));
  await Promise.all(records.map(([key]) => files.delete(key)));
  await ignoring('ENOTEMPTY', rmdir(folder));
  logger.info({ folder, records: records.length }, 'records of an earlier version moved into the journal');
}
