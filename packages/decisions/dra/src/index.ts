export { type AllocatedClaim, allocatedClaim, resourceClaimSchema } from './allocated-claim.ts';
export { claimCheckpoint, parseClaimCheckpoint } from './checkpoint.ts';
export {
  type ClaimLedger,
  type KnownClaim,
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
export { hasClaims, podClaims } from './pod-claims.ts';
