import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string | undefined;

/** A path in this thread's folder for the files of parsers, which main.ts removes with that of all. */
export function scratch(name: string): string {
  folder ??= mkdtempSync(join(tmpdir(), 'kubus-fuzz-'));
  return join(folder, name);
}
