// Writes arguments.tsv: pnpm --filter @kubus/cli write-arguments
import { writeFileSync } from 'node:fs';
import { readTable } from './arguments-table.ts';

const { path, wanted } = readTable();
writeFileSync(path, wanted);
