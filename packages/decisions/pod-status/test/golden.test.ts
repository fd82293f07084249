import type { ContainerStatus, Pod, PodStatus } from '@kubus/contracts';
import { pod } from '@kubus/pod-lifecycle/testing';
import { expect, test } from '@jest/globals';
import { podStatus, rejectedStatus } from '../src/index.ts';
import { type Scenario, scenarios } from './golden/scenarios.ts';
import statuses from './golden/statuses.json' with { type: 'json' };

/** Statuses of these pods from the reference kubelet v1.36.2 with containerd 1.6, without values that differ from run to run. */
const golden: Readonly<Record<string, unknown>> = statuses;

function lastStatus({ pod: of, life }: Scenario): PodStatus {
  let previous: PodStatus | undefined;
  for (const [index, frame] of life.entries()) {
    previous = podStatus({
      pod: of,
      runtime: undefined,
      waiting: new Map(),
      ending: false,
      runtimeName: 'containerd',
      hostIps: ['10.123.0.1'],
      now: Date.UTC(2030, 0, 1) + index * 1000,
      ...frame,
      previous,
    });
  }
  return previous ?? {};
}

/** Omits and replaces the same values as the records. */
function comparable(status: PodStatus): unknown {
  const container = ({ containerID: _id, imageID: _image, allocatedResources: _granted, ...rest }: ContainerStatus) =>
    rest;
  const { startTime: _start, conditions, ...rest } = status;
  const plain = {
    ...rest,
    conditions: conditions?.toSorted((a, b) => (a.type < b.type ? -1 : 1)),
    ...(status.containerStatuses && { containerStatuses: status.containerStatuses.map(container) }),
    ...(status.initContainerStatuses && { initContainerStatuses: status.initContainerStatuses.map(container) }),
  };
  const text = JSON.stringify(plain, (key, value: unknown) => (key === 'containerID' ? undefined : value))
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>')
    .replaceAll('10.88.0.2', '<podIP>')
    .replaceAll('10.123.0.1', '<hostIP>');
  return JSON.parse(text) as unknown;
}

const REJECTED = 'admission-out-of-cpu';

test.each(Object.entries(scenarios))('the status of %s equals the reference’s', (name, scenario) => {
  expect(comparable(lastStatus(scenario))).toEqual(golden[name]);
});

test('the status of a pod that does not fit equals the reference’s', () => {
  const big: Pod = pod({ containers: [{ name: 'c', resources: { requests: { cpu: '500' } } }] });
  const message = "Node didn't have enough resource: cpu, requested: 500000, used: <n>, capacity: 2000";
  expect(comparable(rejectedStatus(big, { reason: 'OutOfcpu', message, now: 0 }))).toEqual(golden[REJECTED]);
});

test('every record has a scenario', () => {
  expect([...Object.keys(scenarios), REJECTED].sort()).toEqual(Object.keys(golden).sort());
});
