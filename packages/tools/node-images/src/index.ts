export { compileStatic } from './compile.ts';
export { callCriOnce } from './cri-call.ts';
export { importImages } from './import-images.ts';
export { buildBusybox, buildImages, busyboxReference, pauseReference } from './node-images.ts';
export { type BuiltImage, buildImage } from './oci-image.ts';
export { readArchive } from './read-archive.ts';
