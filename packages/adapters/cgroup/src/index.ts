export { CgroupReader, type ReadOptions } from './cgroup-reader.ts';
export { CgroupError, handDownFromTop } from './cgroup-maker.ts';
export { missingCgroup } from './missing-cgroup.ts';
export { type CgroupMounts, cgroupHierarchies, cgroupMounts, cgroupTree, removeFolders } from './hierarchies.ts';
export { KeptFiles, textOf } from './kept-files.ts';
export { type KernelMemory, kernelMemory } from './kernel-memory.ts';
export { CgroupBusy, PodCgroupTree } from './pod-cgroups.ts';
export { cgroupOf, emptyRootCgroup, moveProcesses } from './system-cgroups.ts';
export type { ClassedPod } from './pod-requests.ts';
