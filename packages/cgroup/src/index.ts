export { CgroupReader, type CgroupReaderOptions, type ReadOptions } from './cgroup-reader.ts';
export { CgroupError } from './cgroup-writer.ts';
export { type CgroupMounts, cgroupHierarchies, cgroupMounts, cgroupTree, removeFolders } from './hierarchies.ts';
export { KeptFiles, textOf } from './kept-files.ts';
export { type KernelMemory, kernelMemory } from './kernel-memory.ts';
export { CgroupBusy, type PodCgroupOptions, PodCgroupTree } from './pod-cgroups.ts';
