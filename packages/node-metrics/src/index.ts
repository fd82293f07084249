export { type InstanceFamilies, mergeFamilies } from './merge.ts';
export { parseFamilies } from './parse.ts';
export { type PodsNow, podGauges } from './pod-gauges.ts';
