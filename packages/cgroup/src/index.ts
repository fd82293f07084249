export { cgroupHierarchies, cgroupTree, removeFolders } from './hierarchies.ts';
export { CgroupBusy, PodCgroupTree } from './pod-cgroups.ts';
