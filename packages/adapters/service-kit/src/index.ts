export { systemClock, systemIds } from './clock.ts';
export { httpDoor, ownAddress, socketDoor, tlsDoor } from './door.ts';
export { EventRecorder, type EventRecorderOptions, type NodeEvents, type PodEvents } from './event-recorder.ts';
export { FileRecordStore } from './file-record-store.ts';
export { JournalRecordStore } from './journal/journal-record-store.ts';
export { answerDiscovery } from './discovery.ts';
export { type HttpLimits, httpLimits, httpServer, httpsServer, uploadLimits } from './http-server.ts';
export { announceInstance, joinBus } from './join-bus.ts';
export { type AdjustableLogger, DEBUG_VERBOSITY, createLogger, levelOf } from './logger.ts';
export { readMachine } from './machine-info.ts';
export { readOnlyProblem } from './machine-limits.ts';
export { openDescriptors } from './process-metrics.ts';
export { type MetricDeclaration, Metrics, type Sample } from './metrics.ts';
export { followLogLevel } from './follow-log-level.ts';
export { followShare } from './follow-share.ts';
export { endAfter, endProcess } from './end-process.ts';
export {
  ConfigError,
  type NodeConfig,
  configuredShare,
  nodeConfigSchema,
  readNodeConfig,
  unknownFields,
} from './node-config.ts';
export { podLevelOf } from './exclusive-config.ts';
export { architecture, nodeCapacity, nodeResources } from './node-resources.ts';
export { listenPrivately, servePrivately } from './private-socket.ts';
export { bodyBegin } from './body-begin.ts';
export { collectAtRest } from './collect-at-rest.ts';
export { elsewhereSchema } from './service-group.ts';
export {
  type RunningService,
  type ServiceContext,
  type ServiceDefinition,
  measuringMessages,
  runServices,
} from './run-service.ts';
export {
  type Placement,
  clusterServices,
  groupsSchema,
  hostProcess,
  hostable,
  nodeServices,
  placedServices,
  placementSchema,
} from './placement-config.ts';
export { SealKey } from './seal-key.ts';
export { OwnershipLost, SharedRecords } from './shared-records.ts';
export { type Slot, SlotTaken, claimSlot } from './slot.ts';
export { version } from './version.ts';
