export { CsiNode, type CsiUsage, type CsiUse } from './csi/csi-node.ts';
export { type RegisteredDriver, csiPlugins } from './csi/registration.ts';
export { DevicePlugin, type DevicePluginOptions, decodeAnswer, encodeAnswer } from './device-plugin/device-plugin.ts';
export { DevicePluginRegistry, type RegisteredPlugin, devicePlugins } from './device-plugin/registry.ts';
export type { DraMethod } from './dra/dra-plugin.ts';
export { type RegisteredDraDriver, draPlugins } from './dra/registration.ts';
export { callPlugin, pluginClient } from './registration/call.ts';
export { PluginCallError } from './registration/plugin-call-error.ts';
export { PluginWatcher } from './registration/plugin-watcher.ts';
