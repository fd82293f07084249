import { expect, test } from '@jest/globals';
import type { Container } from '@kubus/contracts';
import { claimDevices, containerClaimNames } from '../src/index.ts';
import { podWith } from './pod.ts';

const device = (name: string, requests: string[], ...cdiDevices: string[]) => ({
  ...{ pool: 'node0', device: name, requests, cdiDevices },
});
const claims = [
  {
    name: 'g',
    uid: 'u',
    drivers: [
      {
        driver: 'a.test',
        devices: [
          device('d0', ['big'], 'a.test/gpu=d0', 'a.test/claim=u'),
          device('d1', ['small'], 'a.test/gpu=d1', 'a.test/claim=u'),
          device('d2', [], 'a.test/gpu=common'),
        ],
      },
      { driver: 'b.test', devices: [device('n', ['net'])] },
    ],
  },
  { name: 'extended', uid: 'e', drivers: [{ driver: 'a.test', devices: [device('d3', ['r-0'], 'a.test/gpu=d3')] }] },
];
const pod = podWith(
  [
    { name: 'gpu', resourceClaimName: 'g' },
    { name: 'none', resourceClaimTemplateName: 't' },
    { name: 'late', resourceClaimName: 'unprepared' },
  ],
  {
    resourceClaimStatuses: [{ name: 'none' }],
    extendedResourceClaimStatus: {
      resourceClaimName: 'extended',
      requestMappings: [{ containerName: 'main', resourceName: 'example.com/gpu', requestName: 'r-0' }],
    },
  },
);
const using = (...of: { name: string; request?: string }[]): Container['resources'] => ({ claims: of });

test.each<[string, Container, readonly string[]]>([
  ['no claim', { name: 'main' }, []],
  [
    'a whole claim: each device once',
    { name: 'main', resources: using({ name: 'gpu' }) },
    ['a.test/gpu=d0', 'a.test/claim=u', 'a.test/gpu=d1', 'a.test/gpu=common'],
  ],
  [
    'one request: its devices, and those of all requests',
    { name: 'main', resources: using({ name: 'gpu', request: 'small' }) },
    ['a.test/gpu=d1', 'a.test/claim=u', 'a.test/gpu=common'],
  ],
  [
    'a subrequest: the devices of its request',
    { name: 'main', resources: using({ name: 'gpu', request: 'big/first' }) },
    ['a.test/gpu=d0', 'a.test/claim=u', 'a.test/gpu=common'],
  ],
  [
    'two requests',
    { name: 'main', resources: using({ name: 'gpu', request: 'net' }, { name: 'gpu', request: 'small' }) },
    ['a.test/gpu=common', 'a.test/gpu=d1', 'a.test/claim=u'],
  ],
  ['a claim that was not needed', { name: 'main', resources: using({ name: 'none' }) }, []],
  ['an extended resource', { name: 'main', resources: { requests: { 'example.com/gpu': '1' } } }, ['a.test/gpu=d3']],
  [
    'an extended resource of another container',
    { name: 'side', resources: { requests: { 'example.com/gpu': '1' } } },
    [],
  ],
])('a container with %s', (_, container, devices) => {
  expect(claimDevices(pod, container, claims)).toEqual(devices);
});

test('a container is listed with each of its claims once', () => {
  const resources = {
    ...using({ name: 'gpu', request: 'big' }, { name: 'gpu' }),
    requests: { 'example.com/gpu': '1' },
  };
  expect(containerClaimNames(pod, { name: 'main', resources })).toEqual(['g', 'extended']);
});

test('a container whose claim is not prepared does not start', () => {
  const container = { name: 'main', resources: using({ name: 'late' }) };
  expect(claimDevices(pod, container, claims)).toEqual({
    problem: 'internal error: unable to get claim info for ResourceClaim unprepared in namespace default',
  });
});
