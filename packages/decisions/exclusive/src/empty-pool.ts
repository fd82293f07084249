import { type ContainerRequest, type PodRequest, type WholePod, hasMemory, memorySum } from './request.ts';

/** Why containers of the pod without CPUs of their own would have none to share, in the reference kubelet's words; undefined: they have. */
export function emptyCpuPool({ containers }: PodRequest, whole: WholePod): string | undefined {
  let kept = 0;
  for (const { kind, cpus } of containers) {
    if (kind === 'init' && cpus === 0 && kept >= whole.cpus) {
      return 'pod rejected, pod has shared init containers but no cpus available for them';
    }
    if (kind === 'sidecar') kept += cpus;
  }
  const lasting = containers.filter(({ kind }) => kind !== 'init');
  const own = lasting.reduce((sum, { cpus }) => sum + cpus, 0);
  if (lasting.every(({ cpus }) => cpus > 0) || own < whole.cpus) return undefined;
  return 'pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers';
}

/** Why containers of the pod without memory of their own would have none to share, in the reference kubelet's words; undefined: they have. */
export function emptyMemoryPool({ containers }: PodRequest, whole: WholePod): string | undefined {
  for (const type of Object.keys(whole.memory)) {
    const isSpent = (before: readonly ContainerRequest[]) => memorySum(before, type) >= (whole.memory[type] ?? 0);
    const isLate = ({ kind, memory }: ContainerRequest, at: number) =>
      kind === 'init' && !hasMemory(memory) && isSpent(containers.slice(0, at).filter((one) => one.kind === 'sidecar'));
    if (containers.some(isLate))
      return `pod rejected, pod has shared init containers but no ${type} available for them`;
  }
  const lasting = containers.filter(({ kind }) => kind !== 'init');
  if (lasting.every(({ memory }) => hasMemory(memory))) return undefined;
  const spent = Object.keys(whole.memory).find((type) => memorySum(lasting, type) >= (whole.memory[type] ?? 0));
  if (spent === undefined) return undefined;
  return `pod rejected, sum of exclusive container ${spent} requests equals pod budget, leaving no memory for shared containers`;
}
