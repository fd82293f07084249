export { defaultPod } from './defaults/defaults.ts';
export type { ManifestNote } from './read/notes.ts';
export { type Manifest, decodeManifest, decodePod, readManifest } from './read/read-manifest.ts';
export { type StaticOrigin, staticPod } from './static-pod.ts';
export { referencedKinds } from './validation/api-references.ts';
export { validatePod } from './validation/pod.ts';
export { validatePodResize } from './validation/pod-resize.ts';
export { validateEphemeralContainers, validatePodUpdate } from './validation/pod-update.ts';
export {
  type ConfigState,
  type DroppedPod,
  type SourceSet,
  allSourcesComplete,
  emptyConfig,
  merge,
} from './merge/merge.ts';
export { type Duplicates, duplicatePods } from './merge/duplicates.ts';
