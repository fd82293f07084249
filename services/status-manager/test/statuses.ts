import type { ContainerStatus, PodStatus } from '@kubus/contracts';
import * as fc from 'fast-check';

const times = fc.constantFrom('2030-01-01T10:00:00Z', '2030-01-01T11:00:00Z', '2030-01-01T11:30:00Z');
const text = fc.constantFrom('', 'some', 'other');
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const compact = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as T;

const conditions = fc.uniqueArray(
  fc
    .record({
      type: fc.constantFrom(
        'Ready',
        'ContainersReady',
        'PodScheduled',
        'PodResizePending',
        'DisruptionTarget',
        'a.io/gate',
      ),
      status: fc.constantFrom('True', 'False', 'Unknown'),
      reason: maybe(text),
      message: maybe(text),
      observedGeneration: maybe(fc.nat(3)),
      lastTransitionTime: times,
    })
    .map(compact),
  { selector: ({ type }) => type, maxLength: 6 },
);

const quantities = fc.dictionary(fc.constantFrom('cpu', 'memory'), fc.constantFrom('1', '1000m', '64Mi'), {
  maxKeys: 2,
});
const resources = fc.record({ limits: maybe(quantities), requests: maybe(quantities) }).map(compact);

const states: fc.Arbitrary<ContainerStatus['state']> = fc.oneof(
  fc.constant({}),
  fc.record({ waiting: fc.record({ reason: text }) }),
  fc.record({ running: fc.record({ startedAt: times }) }),
  fc.record({ terminated: fc.record({ exitCode: fc.nat(2), reason: text, finishedAt: times }) }),
);

const containers = fc.uniqueArray(
  fc
    .record({
      name: fc.constantFrom('c', 'd', 'e'),
      state: states,
      lastState: maybe(states),
      ready: fc.boolean(),
      started: maybe(fc.boolean()),
      restartCount: fc.nat(3),
      image: fc.constant('i'),
      imageID: text,
      resources: maybe(resources),
    })
    .map(compact),
  { selector: ({ name }) => name, maxLength: 3 },
);

const addresses = fc.uniqueArray(fc.constantFrom('10.0.0.1', '10.0.0.2', 'fd00::1'), { maxLength: 2 });

/** Any status, written by any client. */
export const statuses: fc.Arbitrary<PodStatus> = fc
  .record({
    observedGeneration: maybe(fc.nat(3)),
    phase: maybe(fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed')),
    conditions: maybe(conditions),
    reason: maybe(text),
    message: maybe(text),
    startTime: maybe(times),
    podIPs: maybe(addresses.map((ips) => ips.map((ip) => ({ ip })))),
    containerStatuses: maybe(containers),
    initContainerStatuses: maybe(containers),
    allocatedResources: maybe(quantities),
    resources: maybe(resources),
    nominatedNodeName: maybe(text),
  })
  .map(({ podIPs, ...status }) => compact({ ...status, podIPs, podIP: podIPs?.[0]?.ip }) as PodStatus);
