export {
  type LogOptions,
  type Query,
  type RefusedOptions,
  isRefused,
  parseLogOptions,
  sinceNanos,
} from './log-options.ts';
export { type NodePod, isMirrorPod, podList, runningPodList } from './pod-list.ts';
