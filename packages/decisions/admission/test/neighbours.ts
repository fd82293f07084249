import type { Pod } from '@kubus/contracts';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { type AdmissionNode, type Neighbour, claimOf } from '../src/index.ts';

export const node: AdmissionNode = {
  name: 'node0',
  labels: { 'kubernetes.io/os': 'linux', zone: 'a', disks: '4' },
  taints: [],
  allocatable: { cpu: '2', memory: '1Gi', pods: '3', 'ephemeral-storage': '10Gi', 'example.com/gpu': '1' },
  sysctls: ['kernel.shm_rmid_forced', 'net.ipv4.tcp_syncookies', 'kernel.msg*', 'net.core.*'],
  appArmor: true,
  strictSupplementalGroups: true,
};

/** A pod of the API server, unless the metadata says otherwise. */
export function pod(spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return makePod(spec, metadata);
}

export const STATIC = { annotations: { 'kubernetes.io/config.source': 'file' } };

/** A pod with one container that has these requests; with `equal` they are its limits too. */
export function asking(requests: Record<string, string>, { equal = false, ...more }: AskingOptions = {}): Pod {
  const resources = equal ? { requests, limits: requests } : { requests };
  return pod({ containers: [{ name: 'c', image: 'busybox', resources }], ...more.spec }, more.metadata);
}

export interface AskingOptions {
  readonly equal?: boolean;
  readonly spec?: Partial<Pod['spec']>;
  readonly metadata?: Partial<Pod['metadata']>;
}

export function neighbour(uid: string, one: Pod): Neighbour {
  return { uid, claim: claimOf(one), pod: one };
}
