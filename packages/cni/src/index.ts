export { watchConfigFolder, type ConfigFolderOptions } from './config-folder.ts';
export { encodeFrame, type Field, FRAME_LIMIT, FrameError, FrameReader } from './frame.ts';
export { PluginHost, type PluginHostOptions, inNamespacesOf } from './plugin-host.ts';
export { type Program, type ProgramEnd, type ProgramRunner, RunnerLostError } from './program.ts';
export { installShim, linkShimSocket } from './shim-install.ts';
export { ShimServer, type ShimServerOptions, ShimSocketError } from './shim-server.ts';
export { endStrays, OWNER_VARIABLE } from './strays.ts';
