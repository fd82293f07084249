import type { Pod } from '@kubus/contracts';
import type { Candidate } from '../src/index.ts';
import { SIGNALS, type Signal } from '../src/signals.ts';

export const signals = Object.keys(SIGNALS) as readonly Signal[];

export interface Uses {
  readonly priority?: number;
  readonly request?: Readonly<Record<string, string>>;
  readonly limit?: Readonly<Record<string, string>>;
  readonly memory?: number;
  readonly processes?: number;
  /** Bytes. */
  readonly layer?: number;
  readonly logs?: number;
  /** Of the layer. */
  readonly inodes?: number;
  readonly volumes?: Readonly<Record<string, number>>;
}

/** A pod with one container and what it uses; its volume `tmpfs` is in memory, and others are on the disk. */
export function candidate(name: string, uses: Uses): Candidate {
  const { memory = 0, processes = 0, layer = 0, logs = 0, inodes = 0, volumes = {} } = uses;
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: name },
    spec: {
      ...(uses.priority !== undefined && { priority: uses.priority }),
      containers: [
        { name: 'main', image: 'busybox', resources: { requests: { ...uses.request }, limits: { ...uses.limit } } },
      ],
      volumes: Object.keys(volumes).map((volume) => ({
        name: volume,
        emptyDir: volume === 'tmpfs' ? { medium: 'Memory' } : {},
      })),
    },
  };
  const container = {
    ...{ name: 'main', memory },
    rootfs: { usedBytes: layer, inodesUsed: inodes },
    logs: { usedBytes: logs, inodesUsed: 0 },
  };
  const all = Object.entries(volumes).map(([volume, usedBytes]) => ({
    ...{ name: volume, usedBytes, inodesUsed: 0 },
    isLocal: volume !== 'tmpfs',
  }));
  return { pod, use: { memory, processes, containers: [container], volumes: all } };
}
