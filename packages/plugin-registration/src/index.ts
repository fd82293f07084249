export { type Callee, callPlugin, pluginClient } from './call.ts';
export { type GrpcCode, PluginCallError } from './plugin-call-error.ts';
export { PluginWatcher, type PluginWatcherOptions } from './plugin-watcher.ts';
export { type PluginInfo, type PluginType, RegistrationError } from './registration.ts';
