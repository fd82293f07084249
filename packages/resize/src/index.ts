export { actualOfPod } from './actual.ts';
export { resizeConditions, resizeEvents } from './conditions.ts';
export { type ResizePlan, type ResizeStep, type SmallerLimit, resizePlan } from './plan.ts';
export { type PodSizes, noSizes, podSizesSchema, sameSize, sizeOf } from './sizes.ts';
export { belowUsage } from './texts.ts';
