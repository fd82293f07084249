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
  ['configured, of both families', { nodeIps: ['fd00::1', '10.0.0.1'] }, ['fd00::1', '10.0.0.1']],
  ['the host name', { hostname: '10.9.9.9', resolved: ['10.0.0.1'] }, ['10.9.9.9']],
  ['resolved, IPv4 first', { resolved: ['fd00::1', '10.0.0.1'], ofDefaultRoute: ['10.0.0.1'] }, ['10.0.0.1']],
  ['resolved, IPv6 wanted', { nodeIps: ['::'], resolved: ['10.0.0.1', 'fd00::1'] }, ['fd00::1']],
  ['resolved to what can not be it', { resolved: ['127.0.0.1'], ofDefaultRoute: ['10.0.0.1'] }, ['10.0.0.1']],
  ['of the other family only', { nodeIps: ['0.0.0.0'], ofDefaultRoute: ['fe80::1', 'fd00::1'] }, ['fd00::1']],
  ['external cloud, configured', { externalCloud: true, nodeIps: ['10.0.0.1'] }, ['10.0.0.1']],
  [
    'external cloud, only a family',
    { externalCloud: true, nodeIps: ['0.0.0.0'], resolved: ['10.0.0.1'] },
    ['10.0.0.1'],
  ],
  ['external cloud waits', { externalCloud: true, resolved: ['10.0.0.1'] }, []],
])('%s', (_, over, ips) => {
  const { hostname } = input(over);
  expect(nodeAddresses(input(over))).toEqual([
    ...ips.map((address) => ({ type: 'InternalIP', address })),
    { type: 'Hostname', address: hostname },
  ]);
});

test('what an external cloud has set stays', () => {
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
])('refused: %s', (ip, message) => {
  expect(() => nodeAddresses(input({ nodeIps: ['10.0.0.1', ip] }))).toThrow(message);
});

test('there is none', () => {
  expect(() => nodeAddresses(input({ resolved: ['10.0.0.9'], ofDefaultRoute: ['fe80::1'] }))).toThrow(/^nodeIps: /);
});

test('an external cloud is told what was configured', () => {
  expect(providedIps({ nodeIps: ['10.0.0.1', 'fd00::1'], externalCloud: true })).toBe('10.0.0.1,fd00::1');
  expect(providedIps({ nodeIps: ['0.0.0.0'], externalCloud: true })).toBeUndefined();
  expect(providedIps({ nodeIps: ['10.0.0.1'], externalCloud: false })).toBeUndefined();
});

test('what pods are told of them: one of each family, those inside the cluster first', () => {
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
