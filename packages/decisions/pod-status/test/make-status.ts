import type { PodCondition, PodStatus } from '@kubus/contracts';
import { pod } from '@kubus/pod-lifecycle/testing';
import { type PodStatusInput, podStatus } from '../src/index.ts';

export const NOW = Date.UTC(2030, 0, 1, 0, 0, 5, 250);

/** The status of a minimal pod, with the changes of a test. */
export function status(overrides: Partial<PodStatusInput> = {}): PodStatus {
  return podStatus({
    pod: pod(),
    runtime: undefined,
    waiting: new Map(),
    previous: undefined,
    ending: false,
    runtimeName: 'containerd',
    hostIps: ['10.123.0.1'],
    now: NOW,
    ...overrides,
  });
}

export function condition(one: PodStatus, type: string): PodCondition | undefined {
  return one.conditions?.find((each) => each.type === type);
}
