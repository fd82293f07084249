// Makes this version the one before the next: node src/keep.ts; docs/contract.md says when.
import { writeFile } from 'node:fs/promises';
import { asyncApiDocument } from './index.ts';
import { keptContract, recordsContract } from './versions.ts';

const keep = (name: string, text: string) => writeFile(new URL(`../previous/${name}`, import.meta.url), text);
await keep('contract.json', keptContract(asyncApiDocument('', '')));
await keep('records.json', keptContract(recordsContract()));
console.log('kept as the messages and records of the previous version; src/previous.ts names its commit');
