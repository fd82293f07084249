export { defaultPod } from './defaults/defaults.ts';
export type { ManifestNote } from './read/notes.ts';
export { decodeManifest, readManifest } from './read/read-manifest.ts';
export { staticPod } from './static-pod.ts';
export { validatePod } from './validation/pod.ts';
export {
  type ConfigState,
  type DroppedPod,
  type SourceSet,
  allSourcesComplete,
  emptyConfig,
  merge,
} from './merge/merge.ts';
