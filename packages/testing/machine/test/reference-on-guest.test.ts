import { expect, test } from '@jest/globals';
import type { Scenario } from '@kubus/harness';
import { onGuest } from '../src/reference-on-guest.ts';

const resources = { memory_limit_in_bytes: 67_108_864, memory_swap_limit_in_bytes: 67_108_864 };

function scenario(oomScore: number, varying: readonly string[] = []): Scenario {
  const container = { config: { linux: { resources: { ...resources, oom_score_adj: oomScore } } } };
  const sandbox = { config: { linux: { resources: { cpu_shares: 2 } } } };
  const status = { message: 'requested: 64000, used: 0, capacity: 2000' };
  const pod =
    'spec: { containers: [{ name: c, resources: { requests: { memory: 32Mi }, limits: { memory: 64Mi } } }] }';
  const record = { status, cri: { sandboxes: [sandbox], containers: { c: container } } };
  return { name: 's', settleSeconds: 1, deletes: false, pod, objects: [], golden: { name: 's', record, varying } };
}

test('the reference’s record of a guest has its processors, the files of cgroup v2, and scores by its memory', () => {
  const size = { cpus: 1, memory: 4n * 1024n ** 3n };
  expect(onGuest(scenario(999), size).golden.record).toEqual({
    status: { message: 'requested: 64000, used: 0, capacity: 1000' },
    cri: {
      sandboxes: [{ config: { linux: { resources: { cpu_shares: 2, unified: { 'memory.oom.group': '1' } } } } }],
      containers: {
        c: {
          config: {
            linux: {
              resources: {
                memory_limit_in_bytes: 67_108_864,
                oom_score_adj: 993,
                unified: { 'memory.oom.group': '1', 'memory.swap.max': '0' },
              },
            },
          },
        },
      },
    },
  });
  for (const score of [-997, 1000]) {
    expect(onGuest(scenario(score), size).golden.record).toHaveProperty(
      'cri.containers.c.config.linux.resources.oom_score_adj',
      score,
    );
  }
});

test('a container that the reference saw both running and ended may be seen in its back-off', () => {
  const state = '.status.containerStatuses[0].state';
  const { golden } = onGuest(scenario(1000, [`${state}.terminated.reason`]), { cpus: 1, memory: 1n });
  expect(golden.varying).toEqual([`${state}.terminated.reason`, `${state}.waiting.reason`, `${state}.waiting.message`]);
});
