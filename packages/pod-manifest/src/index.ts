export { defaultPod } from './defaults.ts';
export { fnv128a } from './fnv.ts';
export type { ManifestNote } from './notes.ts';
export { aggregateResources, type ResourceTotals } from './pod-resources.ts';
export { type DecodedManifest, type DecodedPod, type Manifest, decodeManifest, readManifest } from './read-manifest.ts';
export { apiReferences } from './references.ts';
export { type StaticOrigin, staticPod } from './static-pod.ts';
export { type FieldError, FieldErrors, FieldPath } from './validation/field.ts';
export { validatePod } from './validation/pod.ts';
