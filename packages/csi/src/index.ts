/** A call that a driver did not fulfil. */
export { type GrpcCode, PluginCallError as CsiError } from '@kubus/plugin-registration';
export {
  type CsiAmounts,
  type CsiExpansion,
  CsiNode,
  type CsiNodeInfo,
  type CsiPublishing,
  type CsiStaging,
  type CsiUsage,
  type CsiUse,
} from './csi-node.ts';
export { type RegisteredDriver, csiPlugins } from './registration.ts';
