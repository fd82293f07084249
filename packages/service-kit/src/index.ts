export { systemClock, systemIds } from './clock.ts';
export { type DiscoveryInfo, answerDiscovery } from './discovery.ts';
export { FileRecordStore } from './file-record-store.ts';
export { type Check, Health } from './health.ts';
export { createLogger } from './logger.ts';
export { type MetricDeclaration, Metrics, type Sample } from './metrics.ts';
export { ConfigError, type NodeConfig, nodeConfigSchema, readNodeConfig } from './node-config.ts';
export {
  type RunningService,
  type ServiceContext,
  type ServiceDefinition,
  runService,
  runServices,
} from './run-service.ts';
export { type Slot, SlotTaken, claimSlot } from './slot.ts';
export { version } from './version.ts';
