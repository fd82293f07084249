export { BlobProgress, type BlobStatus, BlobStatuses } from './blob-progress.ts';
export { compileAddon, compileStatic } from './compile.ts';
export { callCriOnce } from './cri-call.ts';
export { type ArchiveContent, openArchive, readArchiveContent } from './image-archive.ts';
export { importArchive, importImages, removeName, untilListed } from './import-images.ts';
export { buildBusybox, buildImages, busyboxReference, pauseReference } from './node-images.ts';
export { type BuiltImage, buildImage } from './oci-image.ts';
export { readArchive } from './read-archive.ts';
