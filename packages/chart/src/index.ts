export { chartFolder } from './chart-folder.ts';
export { ChartError } from './errors.ts';
export { type Manifest, manifestOf, wrongFields } from './manifest-check.ts';
export { type Chart, type RenderOptions, type Rendered, readChart, renderChart } from './render.ts';
export { type Values, coalesce } from './values.ts';
export { type DocumentedValue, documentedValues, valuesTable, withTable } from './values-table.ts';
