export { type DeviceMount, mountDevice } from './device.ts';
export { namesIn } from './folder-names.ts';
export { Held, type TreeEntry, type TreeVisitor, walkTree } from './held.ts';
export {
  MountError,
  type MountRequest,
  bindMount,
  checkAnswers,
  makeReadOnly,
  makeShared,
  mount,
  unmount,
} from './mount-programs.ts';
export { type Mount, isMounted, listMounts, mountAround, mountsBelow, parseMounts } from './mount-table.ts';
export { WithinError, openWithin } from './open-within.ts';
export { readWithin } from './read-within.ts';
export { type ProgramResult, runProgram } from './run-program.ts';
export { removeTree } from './remove-tree.ts';
