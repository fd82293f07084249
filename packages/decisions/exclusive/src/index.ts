export { type CpuSet, cpuSet, cpuSetText, difference, parseCpuSet, union } from './cpu-set.ts';
export { type Cpu, type Machine, allCpus } from './machine.ts';
export { describedMachine, descriptionOf, machineDescription } from './description.ts';
export { type Block, type Ledger, memoryNodes } from './ledger.ts';
export {
  type ContainerRequest,
  type ExclusivePolicies,
  type PodLevel,
  type PodRequest,
  type WholePod,
  cpuSharing,
  exclusiveRequest,
  hasMemory,
  isWithoutQuota,
  podRequest,
} from './request.ts';
export {
  type ExclusiveSettings,
  type ExclusiveSetup,
  type SetupProblem,
  emptyLedger,
  exclusiveSetup,
  ledgerProblem,
} from './setup.ts';
export {
  type Merge,
  type PodAdmission,
  type Refusal,
  admitted,
  containerAdmission,
  podAdmission,
  withoutContainer,
  withoutEndedMemory,
  withoutPod,
} from './admit.ts';
export { cpuFragmentation, fragmentation, memoryFragmentation } from './fragmentation.ts';
export { trialSettings } from './trial-settings.ts';
export type { ResourceHints } from './topology/hint.ts';
export { nodesOf } from './topology/nodes.ts';
export { checksum, mapText, sortedMap } from './checkpoint/checksum.ts';
export { cpuCheckpoint, parseCpuCheckpoint } from './checkpoint/cpu.ts';
export { memoryCheckpoint, parseMemoryCheckpoint } from './checkpoint/memory.ts';
