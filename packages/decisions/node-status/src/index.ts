export { type AddressInput, PROVIDED_IPS, nodeAddresses, providedIps } from './addresses.ts';
export { type CsiNode, belongsTo, csiNodeSchema, csiNodeWrites, newCsiNode } from './csi-node.ts';
export { type KnownPlugins, NODE_IDS, topologyProblem, withPlugins } from './csi-plugins.ts';
export { type NodeImage } from './images.ts';
export { type InitialSettings, defaultLabels, initialNode } from './initial-node.ts';
export { LEASE_NAMESPACE, type Lease, leaseSchema, renewedLease } from './lease.ts';
export {
  type NodeAddress,
  type NodeObject,
  clusterNodeOf,
  hostIpsOf,
  isNewer,
  isReady,
  nodeObjectSchema,
} from './node-object.ts';
export { type MachineInfo, type StatusInput, statusEvent, withStatus } from './node-status.ts';
export { type RuntimeView, isAnswer, readinessProblems } from './readiness.ts';
export { reconciled } from './reconcile.ts';
export { DECLARED_FEATURES, KUBERNETES_MINOR, nodeVersion } from './release.ts';
export { isReportDue, noReport, planAfterWrite } from './report.ts';
export { type Reserved, allocatableOf, binaryQuantity, reservedAmounts, withoutReserved } from './resources.ts';
export { saysSomethingNew, statusPatch } from './status-patch.ts';
