export { type ConfigOutput, ConfigSources, type ConfigSourcesOptions } from './config-sources.ts';
export type { FolderListing, ManifestFolder } from './file-source.ts';
export { FileManifestFolder, ManifestFileError } from './manifest-folder.ts';
export { type PublishOptions, publishSources } from './publish.ts';
export { configSources } from './service.ts';
