export { ChartError } from './errors.ts';
export { type Manifest, isManifest, wrongFields } from './manifest-check.ts';
export { type Chart, type RenderOptions, readChart, renderChart } from './render.ts';
export { type Values, coalesce } from './values.ts';
