// Makes a contract the one of the version before: node src/keep.ts ASYNCAPI-DOCUMENT; docs/contract.md says when.
import { readFile, writeFile } from 'node:fs/promises';
import type { AsyncApiDocument } from './asyncapi.ts';
import { keptContract } from './kept.ts';

const [document, ...more] = process.argv.slice(2);
if (document === undefined || more.length > 0) {
  console.error('usage: node keep.ts ASYNCAPI-DOCUMENT');
  process.exit(2);
}
const contract = JSON.parse(await readFile(document, 'utf8')) as AsyncApiDocument;
await writeFile(new URL('../previous/asyncapi.json', import.meta.url), keptContract(contract));
console.log('it is the contract of the version before; previous.ts names the commit');
