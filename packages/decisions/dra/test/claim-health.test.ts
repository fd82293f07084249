import { expect, test } from '@jest/globals';
import { claimHealth } from '../src/index.ts';
import { podWith } from './pod.ts';

const device = (name: string, requests: string[], cdiDevices: string[], more: object = {}) => ({
  ...{ pool: 'node0', device: name, requests, cdiDevices },
  ...more,
});
const claims = [
  {
    name: 'g',
    uid: 'u',
    drivers: [
      {
        driver: 'a.test',
        devices: [
          device('d0', ['big'], ['a.test/gpu=d0'], { health: 'Healthy' }),
          device('d1', ['small'], ['a.test/gpu=d1'], { health: 'Unhealthy', healthMessage: 'hot' }),
          device('d2', [], [], {}),
          device('d3', ['big'], ['a.test/gpu=d0'], { health: 'Unhealthy' }),
        ],
      },
    ],
  },
];
const pod = podWith([
  { name: 'gpu', resourceClaimName: 'g' },
  { name: 'late', resourceClaimName: 'unprepared' },
]);
const health = (...of: { name: string; request?: string }[]) =>
  claimHealth(pod, { resources: { claims: of } }, claims).map(({ name, resources }) => [name, resources]);

const first = { resourceID: 'a.test/gpu=d0', health: 'Healthy' };
const second = { resourceID: 'a.test/gpu=d1', health: 'Unhealthy', message: 'hot' };
const unknown = { resourceID: 'a.test/node0/d2', health: 'Unknown' };

test('each device of a claim has its health once; of a request the devices that serve it', () => {
  expect(health({ name: 'gpu' })).toEqual([['claim:gpu', [first, second, unknown]]]);
  expect(health({ name: 'gpu', request: 'small' }, { name: 'gpu', request: 'big/of' })).toEqual([
    ['claim:gpu/small', [second, unknown]],
    ['claim:gpu/big/of', [first, unknown]],
  ]);
});

test('a claim that is not prepared, or of which the pod has none, is not listed', () => {
  expect(health({ name: 'late' }, { name: 'other' })).toEqual([]);
  expect(claimHealth(pod, {}, claims)).toEqual([]);
});
