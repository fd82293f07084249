import { readFile } from 'node:fs/promises';
import type { ComparedContract } from './compatibility.ts';

/**
 * The version before this one: the services of both have to work together. A release names its own commit here and has its
 * contract kept; docs/contract.md says how.
 *
 * Before there was a release it is the newest commit that old services can be run from: those of earlier ones refuse
 * to start on the configuration that a launcher of today writes, for it names a field that they do not know.
 */
export const previousCommit = '7820afebdc3110a9c82657eb07080cf3cca3487a';

/** The contract of that version, and what its services keep on disk; without texts for people. */
export async function readPrevious(what: 'contract' | 'records'): Promise<ComparedContract> {
  const file = new URL(`../previous/${what}.json`, import.meta.url);
  return JSON.parse(await readFile(file, 'utf8')) as ComparedContract;
}
