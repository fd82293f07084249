export { type PodDemand, type TokenHolder, demandOf } from './pod-demand.ts';
export { References } from './references.ts';
export { type TokenLife, isExpired, refreshAt } from './token-life.ts';
