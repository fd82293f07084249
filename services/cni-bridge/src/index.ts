export { CniBridge } from './cni-bridge.ts';
export { type AttachmentView, type BridgeLimits, type PluginEvent } from './options.ts';
export { NetworkOnBus } from './network-on-bus.ts';
export { cniBridge } from './service.ts';
