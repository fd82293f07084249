export { type IdPool, poolProblem, subordinateIds, wholePool } from './id-ranges.ts';
export { NodeState, type WorkChange } from './node-state.ts';
export { ownerOf } from './partition.ts';
export { type NodeView, type PodView, isStatic, podWork, sameWork } from './pod-work.ts';
