export { watchConfigFolder } from './config-folder.ts';
export { endLocalnetRouting } from './localnet-routing.ts';
export { PluginHost, inNamespacesOf } from './plugin-host.ts';
export { linkShimSocket } from './shim-install.ts';
export { ShimServer } from './shim-server.ts';
export { endStrays } from './strays.ts';
