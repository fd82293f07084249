export { type DeviceListener, DevicePlugin, type DevicePluginOptions } from './device-plugin.ts';
export {
  DevicePluginRegistry,
  type DevicePluginRegistryOptions,
  type RegisteredPlugin,
  devicePlugins,
} from './registry.ts';
