export { MountError, type MountRequest, mount, unmount } from './mount-programs.ts';
export { type Mount, listMounts, mountsBelow, parseMounts } from './mount-table.ts';
export { readWithin } from './read-within.ts';
export { removeTree } from './remove-tree.ts';
