export { watchConfigFolder, type ConfigFolderOptions } from './config-folder.ts';
export { encodeFrame, type Field, FRAME_LIMIT, FrameError, FrameReader } from './frame.ts';
export { hostPluginRunner, type PluginHostOptions, runPlugin, type RunPluginOptions } from './plugin-process.ts';
export { linkShimSocket, ShimServer, type ShimServerOptions, ShimSocketError } from './shim-server.ts';
export { endStrays, OWNER_VARIABLE } from './strays.ts';
