import { expect, test } from '@jest/globals';
import { type AddressInput, hostIpsOf, nodeAddresses, providedIps } from '../src/index.ts';

const input = (over: Partial<AddressInput>): AddressInput => ({
  nodeIps: [],
  hostname: 'node0',
  externalCloud: false,
  existing: [],
  ofMachine: ['127.0.0.1', '::1', '10.0.0.1', 'fd00::1', 'fe80::1', '169.254.1.1', '224.0.0.1'],
  resolved: [],
  ofDefaultRoute: [],
  ...over,
});
const existing = [{ type: 'ExternalIP', address: '1.2.3.4' }];

test.each<[string, Partial<AddressInput>, readonly string[]]>([
  ['configured', { nodeIps: ['10.0.0.1'], resolved: ['fd00::1'] }, ['10.0.0.1']],
  ['are the configured ones, of both families', { nodeIps: ['fd00::1', '10.0.0.1'] }, ['fd00::1', '10.0.0.1']],
  ['are the host name if it is an address', { hostname: '10.9.9.9', resolved: ['10.0.0.1'] }, ['10.9.9.9']],
  ['resolved, IPv4 first', { resolved: ['fd00::1', '10.0.0.1'], ofDefaultRoute: ['10.0.0.1'] }, ['10.0.0.1']],
  ['resolved, IPv6 wanted', { nodeIps: ['::'], resolved: ['10.0.0.1', 'fd00::1'] }, ['fd00::1']],
  [
    'skip a resolved address that cannot be used',
    { resolved: ['127.0.0.1'], ofDefaultRoute: ['10.0.0.1'] },
    ['10.0.0.1'],
  ],
  ['are of the preferred family only', { nodeIps: ['0.0.0.0'], ofDefaultRoute: ['fe80::1', 'fd00::1'] }, ['fd00::1']],
  ['with an external cloud are the configured ones', { externalCloud: true, nodeIps: ['10.0.0.1'] }, ['10.0.0.1']],
  [
    'with an external cloud and only a configured family are omitted',
    { externalCloud: true, nodeIps: ['0.0.0.0'], resolved: ['10.0.0.1'] },
    ['10.0.0.1'],
  ],
  ['with an external cloud are omitted until it sets them', { externalCloud: true, resolved: ['10.0.0.1'] }, []],
])('the addresses %s', (_, over, ips) => {
  const { hostname } = input(over);
  expect(nodeAddresses(input(over))).toEqual([
    ...ips.map((address) => ({ type: 'InternalIP', address })),
    { type: 'Hostname', address: hostname },
  ]);
});

test('the addresses that an external cloud has set are kept', () => {
  expect(nodeAddresses(input({ externalCloud: true, existing, nodeIps: ['10.0.0.1'] }))).toEqual(existing);
  expect(nodeAddresses(input({ existing, nodeIps: ['10.0.0.1'] }))).not.toEqual(existing);
});

test.each([
  ['nonsense', 'nodeIps.1: nodeIP must be a valid IP address'],
  ['127.0.0.1', "nodeIps.1: nodeIP can't be loopback address"],
  ['::1', "nodeIps.1: nodeIP can't be loopback address"],
  ['224.0.0.1', "nodeIps.1: nodeIP can't be a multicast address"],
  ['ff02::1', "nodeIps.1: nodeIP can't be a multicast address"],
  ['169.254.1.1', "nodeIps.1: nodeIP can't be a link-local unicast address"],
  ['fe80::1', "nodeIps.1: nodeIP can't be a link-local unicast address"],
  ['10.0.0.2', `nodeIps.1: node IP: "10.0.0.2" not found in the host's network interfaces`],
])('the configured address %s is refused', (ip, message) => {
  expect(() => nodeAddresses(input({ nodeIps: ['10.0.0.1', ip] }))).toThrow(message);
});

test('a node without an address causes an error', () => {
  expect(() => nodeAddresses(input({ resolved: ['10.0.0.9'], ofDefaultRoute: ['fe80::1'] }))).toThrow(/^nodeIps: /);
});

test('the configured addresses are passed to an external cloud', () => {
  expect(providedIps({ nodeIps: ['10.0.0.1', 'fd00::1'], externalCloud: true })).toBe('10.0.0.1,fd00::1');
  expect(providedIps({ nodeIps: ['0.0.0.0'], externalCloud: true })).toBeUndefined();
  expect(providedIps({ nodeIps: ['10.0.0.1'], externalCloud: false })).toBeUndefined();
});

test('hostIpsOf returns one address of each family, internal ones first', () => {
  const address = (type: string, ip: string) => ({ type, address: ip });
  const all = [
    address('Hostname', 'node0'),
    address('ExternalIP', 'fd00::9'),
    address('InternalIP', '10.0.0.1'),
    address('InternalIP', '10.0.0.2'),
  ];
  expect(hostIpsOf(all)).toEqual(['10.0.0.1', 'fd00::9']);
  expect(hostIpsOf(all.slice(2))).toEqual(['10.0.0.1']);
  expect(hostIpsOf([address('Hostname', 'node0')])).toEqual([]);
});
