export { type AllocatedClaim, allocatedClaim, resourceClaimSchema } from './allocated-claim.ts';
export { claimHealth } from './claim-health.ts';
export { claimCheckpoint, parseClaimCheckpoint } from './checkpoint.ts';
export {
  type ClaimLedger,
  type KnownClaim,
  byDriver,
  claimKey,
  claimUsers,
  claimsOf,
  isLastUser,
  isPrepared,
  withDevices,
  withPod,
  withoutPod,
} from './claim-ledger.ts';
export { claimDevices, containerClaimNames } from './container-claims.ts';
export {
  type DriverHealth,
  type HealthReport,
  healthOf,
  isSameHealth,
  nextStale,
  withReports,
  withoutStale,
} from './device-health.ts';
export { type NodeHealth, healthCheckpoint, parseHealthCheckpoint } from './health-checkpoint.ts';
export { hasClaims, podClaims } from './pod-claims.ts';
