export { type AccessRequest, isAllowed, isPathAllowed, nodeOf, rulesOf } from './access.ts';
export { reviewedRequest } from './admission/access-review.ts';
export { grantedRules, isGranted } from './admission/role-grants.ts';
export { keepNamespace } from './admission/kept-namespaces.ts';
export { LEASE_NAMESPACE, type Write, restrictNode } from './admission/node-restriction.ts';
export { type IncludeObject, tableFor } from './table/table.ts';
export {
  type Json,
  type JsonObject,
  asList,
  asObject,
  asText,
  at,
  entriesOf,
  fieldOf,
  isList,
  isObject,
  jsonKind,
  plainJson,
  sameJson,
} from './json.ts';
export { jsonProblem, mayBeTooDeep } from './json-problem.ts';
export { taintsOf } from './node-taints.ts';
export { type KubeObject, isReady } from './object.ts';
export { jsonPatch } from './patch/json-patch.ts';
export { mergeRule } from './patch/merge-keys.ts';
export { mergePatch } from './patch/merge-patch.ts';
export { strategicMerge } from './patch/strategic-merge.ts';
export {
  type Resource,
  apiVersionOf,
  keyOf,
  resourceOfKind,
  resources,
  shownAs,
  storedFrom,
  tableOf,
} from './resources.ts';
export { type Review, reviews } from './reviews.ts';
export type { RuleContext } from './rules/rules.ts';
export { placementOf } from './schedule.ts';
export { type Selector, fieldSelector, labelSelector } from './selectors.ts';
export {
  type FieldProblem,
  StatusError,
  alreadyExists,
  badRequest,
  conflict,
  deletedStatus,
  expired,
  failure,
  forbidden,
  invalid,
  methodNotAllowed,
  noSuchPath,
  notFound,
  tooLargeVersion,
  unauthorized,
  unsupportedMediaType,
} from './status.ts';
export { type UsageResource, nodeMetrics, podMetrics, usageResources } from './usage/usage-objects.ts';
export { type Usage, nodeUsage, podUsage } from './usage/usage-rates.ts';
export { type UsageReading, usageReading } from './usage/usage-reading.ts';
export { boundTo, isVolumeOf, usesClaim, volumeFor } from './volume-binding.ts';
