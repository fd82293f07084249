export { type ClaimStatus, claimSchema, expansionPatch } from './claim-patch.ts';
export { type ApiEvent, apiEvent } from './api-event.ts';
export { type MirrorStep, type MirrorView, type NewPod, isMirror, mirrorOf, mirrorStep } from './mirror.ts';
export { type PodNeed, type PodView, podNeed } from './pod-need.ts';
export { type JsonObject, sameStatus, statusPatch } from './status-patch.ts';
export { type Urgency, compareUrgency } from './urgency.ts';
export { type FailureScope, failureScope, retryMs } from './retry.ts';
export { compareVersions } from './versions.ts';
export { NODE_FIELDS, type WantedInput, wantedStatus } from './wanted-status.ts';
