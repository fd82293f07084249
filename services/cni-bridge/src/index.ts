export { type Checks, type Removals } from './attachments.ts';
export { CniBridge } from './cni-bridge.ts';
export {
  type AttachedPod,
  type AttachmentView,
  type BridgeEvents,
  type BridgeLimits,
  type CniBridgeOptions,
  DEFAULT_LIMITS,
  type PluginEvent,
} from './options.ts';
export { NetworkOnBus, type NetworkOnBusOptions } from './network-on-bus.ts';
export { cniBridge } from './service.ts';
