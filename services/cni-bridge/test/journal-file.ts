import { existsSync, readFileSync } from 'node:fs';

/** The records that a journal's lines leave, by key. Empty when there is no file yet. */
export function recordsIn(path: string): Map<string, unknown> {
  const records = new Map<string, unknown>();
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  for (const line of lines) {
    const { key, value } = JSON.parse(line) as { key: string; value?: unknown };
    if (value === undefined) records.delete(key);
    else records.set(key, value);
  }
  return records;
}
