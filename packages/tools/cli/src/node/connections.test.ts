import { expect, test } from '@jest/globals';
import { connectionLines, connectionsOf } from './connections.ts';

const dir = { logs: '/n/logs' };
const nothing = { publish: [], registries: [], bridge: 'kubus-a', subnet: '10.89.0.0/16' };
const address = (family: string, text: string) => ({ family, address: text });

test.each([
  ['none', {}, ['way out  none: only this node is reached; "kubus up --restart --network nat" changes that']],
  ['nat', {}, ['way out  nat: it does not work: see /n/logs/way-out.log']],
  ['nat', { 'way-out': [address('IPv6', 'fe80::1')] }, ['way out  nat: it does not work: see /n/logs/way-out.log']],
  [
    'nat',
    { 'way-out': [address('IPv6', 'fe80::1'), address('IPv6', '2001:db8::2'), address('IPv4', '198.51.100.2')] },
    ["way out  nat: over the machine's connections, IPv4 and IPv6"],
  ],
  [
    'host',
    { eth0: [address('IPv4', '203.0.113.2')], 'kubus-a': [address('IPv4', '10.89.0.1')] },
    ["way out  host: the node is on the machine's network, its pods are behind the bridge kubus-a in 10.89.0.0/16"],
  ],
] as const)(
  'status says how a node with --network %s and the interfaces %j reaches others',
  (network, interfaces, lines) => {
    expect(connectionLines(connectionsOf(dir, { network, ...nothing }, interfaces))).toEqual(lines);
  },
);

test('status shows published ports and registries of the machine', () => {
  const settings = {
    ...nothing,
    network: 'none' as const,
    publish: ['8080:80', '[::1]:8081:81'],
    registries: ['localhost:5000'],
  };
  expect(connectionLines(connectionsOf(dir, settings, {})).slice(1)).toEqual([
    'ports    127.0.0.1:8080 is port 80 of the node, [::1]:8081 is port 81 of the node',
    'registries of the machine  localhost:5000',
  ]);
});
