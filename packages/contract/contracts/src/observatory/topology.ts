/** The node's machine, and who has its CPUs, memory and devices; amounts are texts for people, numbers are lists such as `0-3,8`. */
export interface TopologyDocument {
  /** When something in it has changed, in milliseconds since the Unix epoch, oldest first; of more than 1000 the newest. */
  readonly moments: readonly number[];
  readonly policies: {
    readonly cpu: string;
    readonly memory: string;
    readonly topology: string;
    readonly scope: string;
  };
  /** NUMA nodes. */
  readonly nodes: readonly TopologyNode[];
  /** Who has which CPUs. */
  readonly cpus: readonly CpuOwner[];
  /** Devices of device plugins. */
  readonly devices: readonly TopologyDevice[];
  /** Devices of resource claims. */
  readonly claims: readonly TopologyClaim[];
}

export interface TopologyNode {
  readonly id: number;
  /** Sockets that have CPUs of it. */
  readonly sockets: string;
  readonly cpus: string;
  /** Its cores by the caches that a part of it shares; one group, without `cache`, when it has no such caches. */
  readonly groups: readonly { readonly cache?: string; readonly cores: readonly (readonly number[])[] }[];
  readonly memory: string;
  /** Of resources that containers can have for themselves: what is left; empty without a memory policy. */
  readonly free: string;
  readonly hugePages: string;
  /** To each node, in their order. */
  readonly distances: string;
}

export interface CpuOwner {
  readonly kind: 'reserved' | 'shared' | 'own' | 'isolated' | 'offline';
  readonly cpus: string;
  readonly ids: readonly number[];
  /** NUMA nodes of these CPUs. */
  readonly nodes: string;
  /** In words; of `own` the container, and its memory. */
  readonly who: string;
  /** Of `own`: the UID of the pod. */
  readonly uid?: string;
}

export interface TopologyDevice {
  readonly resource: string;
  readonly id: string;
  readonly nodes: string;
  readonly healthy: boolean;
  /** `namespace/pod container`; empty: no container has it. */
  readonly who: string;
  readonly uid?: string;
}

export interface TopologyClaim {
  readonly claim: string;
  readonly driver: string;
  /** `pool/device`. */
  readonly device: string;
  /** `Healthy`, `Unhealthy` or `Unknown`, with what the driver says of it. */
  readonly health: string;
  /** `namespace/pod`, or the UID of a pod that is not known. */
  readonly who: string;
  readonly uid: string;
}
