export {
  type LogOptions,
  type Query,
  type RefusedOptions,
  isRefused,
  parseLogOptions,
  sinceNanos,
} from './log-options.ts';
export { type StreamOptions, parsePorts, parseStreamOptions } from './stream-options.ts';
export { type NodePod, isMirrorPod, podList, runningPodList } from './pod-list.ts';
export { checkpointName } from './checkpoint-name.ts';
