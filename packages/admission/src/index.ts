export { type Admission, type Neighbour, admit } from './admit.ts';
export { actualAllocation, allocationOf, sameAllocation, sameResources, withAllocation } from './allocation.ts';
export { type PodClaim, amount, claimOf, withActual } from './claim.ts';
export type { AdmissionNode, Taint } from './node.ts';
export { type AdmissionRecord, admissionRecordSchema } from './record.ts';
export { INFEASIBLE, type WantedResize, compareResizes, refuseResize } from './resize.ts';
export { safeSysctls, sysctlNamespace } from './sysctls.ts';
