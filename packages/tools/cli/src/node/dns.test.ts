import { expect, test } from '@jest/globals';
import { dnsLine, dnsOf, readDns } from './dns.ts';

const config = (servers: readonly string[], dnsAddress?: string) => ({
  dns: { servers: [...servers], domain: 'cluster.local', resolvConf: '/etc/resolv.conf' },
  ...(dnsAddress !== undefined && { kubeApi: { port: 6443, dnsAddress } }),
});

test.each([
  [config([]), "dns      none: pods use the machine's (/etc/resolv.conf)"],
  [config(['10.0.0.1']), 'dns      10.0.0.1: of clusterDNS'],
  [
    config(['10.96.0.10'], '10.96.0.10'),
    'dns      10.96.0.10: names of services and pods in cluster.local, others from /etc/resolv.conf',
  ],
  [config(['10.0.0.1'], '10.96.0.10'), "dns      10.0.0.1: of clusterDNS; the node's own is 10.96.0.10"],
])('status says which DNS pods have with %j', (given, line) => {
  expect(dnsLine(dnsOf(given))).toBe(line);
});

test('a node whose configuration cannot be read says nothing about DNS', () => {
  expect(readDns('/no/such/node.json')).toBeUndefined();
});
