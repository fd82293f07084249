import { expect, test } from '@jest/globals';
import { topologyView } from '@kubus/causality';
import type { NodeTopology } from '@kubus/contracts';
import { momentOf } from './topology-facts.ts';
import { topologyText } from './topology-text.ts';

const GI = 2 ** 30;
const topology: NodeTopology = {
  machine: {
    sockets: [{ id: 0, cpus: '0-7' }],
    nodes: [
      { id: 0, cpus: '0-3', memory: 4 * GI, distances: [10, 20], hugePages: [{ size: 2 ** 21, count: 8 }] },
      { id: 1, cpus: '4-7', memory: 4 * GI, distances: [20, 10], hugePages: [] },
    ],
    cores: [],
    caches: [
      { id: 0, cpus: '0-1' },
      { id: 2, cpus: '2-3' },
    ],
    ...{ offline: '8', isolated: '' },
  },
  policies: { cpu: 'static', memory: 'Static', topology: 'restricted', scope: 'container' },
  ...{ reserved: '0', shared: '0-3,6-7' },
  memory: [{ node: 1, resource: 'memory', allocatable: 4 * GI, free: 3 * GI }],
  containers: [
    { uid: 'u1', name: 'main', cpus: '4-5', memory: [{ nodes: '1', resource: 'memory', bytes: GI }] },
    { uid: 'u2', name: 'side', memory: [{ nodes: '0-1', resource: 'memory', bytes: GI }] },
  ],
};
const ref = { uid: 'u1', namespace: 'default', name: 'web' };
const view = topologyView({
  topology,
  resources: [
    {
      resource: 'example.com/gpu',
      gone: false,
      devices: [
        { id: 'a', healthy: true, topology: { numaNodes: [1] } },
        { id: 'b', healthy: false },
      ],
    },
  ],
  allocations: new Map([
    [
      'u1',
      { ref, containers: [{ name: 'main', resources: [{ resource: 'example.com/gpu', devices: [{ id: 'a' }] }] }] },
    ],
  ]),
  claims: new Map([
    [
      'u2',
      {
        claims: [
          {
            ...{ name: 'gpu', uid: 'c' },
            drivers: [
              {
                driver: 'a.test',
                devices: [
                  {
                    pool: 'node0',
                    device: 'd0',
                    requests: [],
                    cdiDevices: [],
                    health: 'Unhealthy',
                    healthMessage: 'hot',
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
  ]),
  pods: new Map([['u1', 'default/web']]),
});

test('who has CPUs, memory and devices is in the document', () => {
  expect(view.containers.map(({ uid, pod }) => [uid, pod])).toEqual([
    ['u1', 'default/web'],
    ['u2', undefined],
  ]);
  expect(view.devices).toEqual([
    {
      ...{ resource: 'example.com/gpu', id: 'a', healthy: true, numaNodes: [1] },
      owners: [{ uid: 'u1', pod: 'default/web', container: 'main' }],
    },
    { resource: 'example.com/gpu', id: 'b', healthy: false, numaNodes: [], owners: [] },
  ]);
});

test('each CPU and each device has one line that says who has it', () => {
  expect(topologyText(view).split('\n')).toEqual([
    'cpuManagerPolicy static, memoryManagerPolicy Static, topologyManagerPolicy restricted (container)',
    '',
    'SOCKET   NODE   CPUS   CACHES    MEMORY    FREE                 HUGE PAGES    DISTANCES',
    '0        0      0-3    0-1 2-3   4.0 GiB                        8 x 2.0 MiB   10 20',
    '0        1      4-7              4.0 GiB   3.0 GiB of 4.0 GiB                 20 10',
    '',
    'CPUS      NODE   WHO HAS THEM',
    '0         0      reserved',
    '1-3,6-7   0-1    shared by all containers that have none',
    '4-5       1      default/web main, memory 1.0 GiB of node 1',
    '                 u2 side, memory 1.0 GiB of node 0-1',
    '8                offline',
    '',
    'DEVICE            ID   NODE   WHO HAS IT',
    'example.com/gpu   a    1      default/web main',
    'example.com/gpu   b           (unhealthy)',
    '',
    'CLAIM   DRIVER   DEVICE     HEALTH            WHO USES IT',
    'gpu     a.test   node0/d0   Unhealthy (hot)   u2',
  ]);
});

test.each([
  ['+2.5', 1000, 3500],
  ['2030-01-01T00:00:00Z', 0, Date.UTC(2030, 0, 1)],
])('--at %s is a moment', (text, began, expected) => {
  expect(momentOf(text, began)).toBe(expected);
});

test.each(['soon', '2.5', '2030-99-01T00:00:00Z'])('--at %s is refused', (text) => {
  expect(() => momentOf(text, 0)).toThrow('--at: must be a time such as');
});
