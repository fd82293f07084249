export { allocationRecordSchema } from './device-allocations.ts';
export { resourceRecordSchema } from './device-resources.ts';
export { nodeAgent } from './service.ts';
