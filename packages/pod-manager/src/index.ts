export { NodeState, type WorkChange } from './node-state.ts';
export { type NodeView, type PodView, isStatic, podWork, sameWork } from './pod-work.ts';
