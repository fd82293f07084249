import type { Completeness } from '@kubus/contracts/observatory';
import type { DatabaseSync } from 'node:sqlite';
import { NO_SERVICE } from './schema.ts';

/** The missing messages of a recording, as far as they can be counted. */
export function readCompleteness(database: DatabaseSync): Completeness {
  const count = (from: string, ...values: string[]) =>
    Number(database.prepare(`SELECT coalesce(sum(${from}`).get(...values)?.['count']);
  return {
    droppedByBroker: count('last - first + 1), 0) AS count FROM holes'),
    neverStored: count('last - first + 1), 0) AS count FROM gaps'),
    unreadable: count('messages), 0) AS count FROM said WHERE service = ?', NO_SERVICE),
  };
}
