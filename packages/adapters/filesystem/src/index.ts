export { useMountHelper } from './mount-helper.ts';
export { mountDevice } from './device.ts';
export { filesIn, namesIn } from './folder-names.ts';
export { Held, type TreeEntry, walkTree } from './held.ts';
export {
  MountError,
  bindMount,
  checkAnswers,
  makeReadOnly,
  makeShared,
  mount,
  unmount,
  unmountBelow,
} from './mount-programs.ts';
export { type Mount, deviceOf, isMounted, listMounts, mountsBelow, parseMounts } from './mount-table.ts';
export { NotRegular, createRegular, openHeld, openRegular, readRegular, replaceRegular } from './open-regular.ts';
export { WithinError, openWithin } from './open-within.ts';
export { holdWithin, readWithin } from './read-within.ts';
export { type ProjectUsage, editProjectFiles, giveProject, projectUsage } from './project-quota.ts';
export { runProgram } from './run-program.ts';
export { NotRemoved, removeTree } from './remove-tree.ts';
export { type FileContent, holdsContent, writeContent } from './atomic-writer/content-folder.ts';
export { ContentPathError, checkPaths } from './atomic-writer/content-paths.ts';
