import type { UnaryCriMethod } from '@kubus/proto/cri';

/**
 * The calls that change something and that a runtime aborts halfway when their caller's connection closes. They go
 * through the relay. Reads and commands in a container (ExecSync) do not: their result is not needed after a crash.
 */
const held: ReadonlySet<UnaryCriMethod> = new Set<UnaryCriMethod>([
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'UpdatePodSandboxResources',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
  'UpdateContainerResources',
  'CheckpointContainer',
  'PullImage',
  'RemoveImage',
]);

export function isHeld(method: UnaryCriMethod): boolean {
  return held.has(method);
}
