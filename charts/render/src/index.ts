export { chartFolder } from './chart-folder.ts';
export { type Manifest, manifestOf, wrongFields } from './manifest-check.ts';
export { type Rendered, readChart, renderChart } from './render.ts';
export { type Values, coalesce } from './values.ts';
export { documentedValues, valuesTable, withTable } from './values-table.ts';
