// Writes arguments.tsv, and the documents in docs/commands.md: pnpm --filter @kubus/cli write-arguments
import { writeFileSync } from 'node:fs';
import { readTable } from './arguments-table.ts';
import { readDocuments } from './documents-table.ts';

for (const { path, wanted } of [await readTable(), readDocuments()]) writeFileSync(path, wanted);
