import { expect, test } from '@jest/globals';
import { freeSubnet, gatewayOf } from './free-subnet.ts';

const candidates = ['10.88.0.0/16', '10.89.0.0/16', '172.17.0.0/16'];

test.each<[string, string[], string | undefined]>([
  ['nothing but the loopback', ['127.0.0.0/8', '127.0.0.1'], '10.88.0.0/16'],
  ['default routes, also those of a VPN', ['default', '0.0.0.0/1', '128.0.0.0/1'], '10.88.0.0/16'],
  ['the same range', ['10.88.0.0/16'], '10.89.0.0/16'],
  ['a part of it', ['10.88.255.0/24'], '10.89.0.0/16'],
  ['one address of it', ['10.88.7.1'], '10.89.0.0/16'],
  ['a range around two', ['10.0.0.0/8'], '172.17.0.0/16'],
  ['an address next to it', ['10.87.255.255', '10.89.0.0/24'], '10.88.0.0/16'],
  ['all', ['10.0.0.0/8', '172.16.0.0/12'], undefined],
])('the first range that overlaps no route, on a machine with routes to %s', (_what, routes, expected) => {
  expect(freeSubnet(candidates, routes)).toBe(expected);
});

test('the gateway is the first address', () => {
  expect(gatewayOf('172.17.0.0/16')).toBe('172.17.0.1');
});
