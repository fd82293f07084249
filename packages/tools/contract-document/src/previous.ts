import { readFile } from 'node:fs/promises';
import type { ComparedContract } from './compatibility.ts';

/**
 * The previous version: its services and those of this version have to work together. A release sets its own commit here and keeps its
 * contract; docs/contract.md says how.
 *
 * Before the first release it is the oldest commit whose services work together with today's: commands name their sender.
 */
export const previousCommit = '00ba6e17b819b6294f48292d578559b8175a922d';

/** The contract of that version, and the records that its services keep on disk; without descriptions. */
export async function readPrevious(what: 'contract' | 'records'): Promise<ComparedContract> {
  const file = new URL(`../previous/${what}.json`, import.meta.url);
  return JSON.parse(await readFile(file, 'utf8')) as ComparedContract;
}
