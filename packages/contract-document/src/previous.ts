import { readFile } from 'node:fs/promises';
import type { ComparedContract } from './compatibility.ts';

/**
 * The version before this one: the services of both have to work together. A release names its own commit here and has its
 * contract kept; docs/contract.md says how.
 *
 * Before there was a release it is the oldest commit whose static pods have the UIDs that those of today have: what is older
 * gives them others, so that a change of `config-sources` makes them anew.
 */
export const previousCommit = '51dcae7f2339c7917dd9d7fac6298d4d92986e02';

/** The contract of that version, and what its services keep on disk; without texts for people. */
export async function readPrevious(what: 'contract' | 'records'): Promise<ComparedContract> {
  const file = new URL(`../previous/${what}.json`, import.meta.url);
  return JSON.parse(await readFile(file, 'utf8')) as ComparedContract;
}
