export { type FileContent, type WriteOptions, holdsContent, writeContent } from './content-folder.ts';
export { ContentPathError, checkPaths } from './content-paths.ts';
