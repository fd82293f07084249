export { allocationRecordSchema } from './devices/device-allocations.ts';
export { resourceRecordSchema } from './devices/device-resources.ts';
export { nodeAgent } from './service.ts';
