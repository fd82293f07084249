export { ActivePods } from './active-pods.ts';
export { Eviction } from './eviction.ts';
export { PressureWatch } from './pressure-watch.ts';
