export { ConfigSources, registeredSources } from './config-sources.ts';
export { configSourcesCore, takerOf } from './core.ts';
export { type FolderListing, type ManifestFolder, fileRecordSchema } from './file-source.ts';
export { FileManifestFolder, ManifestFileError } from './manifest-folder.ts';
export { configSources } from './service.ts';
export { type ConfigOutput, SourceMerge } from './source-merge.ts';
