import type { PodSandboxConfig } from '@kubus/proto/cri';

/** The sandbox in which the pod's containers run. */
export interface SandboxInUse {
  readonly id: string;
  readonly config: PodSandboxConfig;
  /** The pod's addresses, the primary one first. */
  readonly ips: readonly string[];
}
