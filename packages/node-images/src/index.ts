export { compileStatic } from './compile.ts';
export { callCriOnce } from './cri-call.ts';
export { NodeImageError } from './errors.ts';
export { type ImportOptions, importImages } from './import-images.ts';
export { buildBusybox, buildImages, busyboxReference, pauseReference } from './node-images.ts';
export { type BuiltImage, type ImageSpec, buildImage } from './oci-image.ts';
export { readArchive } from './read-archive.ts';
export { type TarEntry } from './tar.ts';
