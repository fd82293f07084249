export {
  type ConfigState,
  type DroppedPod,
  type MergeResult,
  type SourceSet,
  type SourceState,
  allSourcesComplete,
  emptyConfig,
  merge,
} from './merge.ts';
