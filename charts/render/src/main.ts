import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chartFolder } from './chart-folder.ts';
import { documentedValues, valuesTable, withTable } from './values-table.ts';

/** Writes the table of values into the chart's README. */
const readme = join(chartFolder, 'README.md');
const values = documentedValues(await readFile(join(chartFolder, 'values.yaml'), 'utf8'));
await writeFile(readme, withTable(await readFile(readme, 'utf8'), valuesTable(values)));
