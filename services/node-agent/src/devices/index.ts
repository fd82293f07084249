export { type LedgerFiles, ExclusiveThings } from '../exclusive/exclusive-things.ts';
export { DeviceAllocations, allocationRecordSchema } from './device-allocations.ts';
export { DeviceManager } from './device-manager.ts';
export { DeviceResources } from './device-resources.ts';
export { EndedPods } from './ended-pods.ts';
