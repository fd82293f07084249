import { pod } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import fc from 'fast-check';
import { type DnsSettings, dnsConfig } from '../src/index.ts';

const HOST = [
  '# a comment',
  'nameserver 192.168.0.1',
  ' nameserver  192.168.0.2 ',
  'nameserver',
  'search first.example',
  'search corp.example. . lab.example',
  'options timeout:1 rotate',
  'options timeout:2',
].join('\n');
const settings: DnsSettings = {
  clusterDns: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  resolvConf: HOST,
  nodeIps: ['192.168.0.9'],
};
const dns = (spec: Partial<Pod['spec']>, overrides: Partial<DnsSettings> = {}) =>
  dnsConfig(pod(spec), { ...settings, ...overrides });

const host = {
  servers: ['192.168.0.1', '192.168.0.2'],
  searches: ['corp.example', '.', 'lab.example'],
  options: ['timeout:2', 'rotate'],
};
const cluster = {
  servers: ['10.96.0.10'],
  searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', ...host.searches],
  options: ['ndots:5'],
};
const loopback = { servers: ['127.0.0.1'], searches: ['.'], options: [] };

describe('the DNS policy', () => {
  test.each<[Partial<Pod['spec']>, Partial<DnsSettings>, object]>([
    [{}, {}, cluster],
    [{ dnsPolicy: 'ClusterFirst' }, {}, cluster],
    [{ dnsPolicy: 'ClusterFirst', hostNetwork: true }, {}, host],
    [{ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }, {}, cluster],
    [{ dnsPolicy: 'Default' }, {}, host],
    [{ dnsPolicy: 'None' }, {}, { servers: [], searches: [], options: [] }],
    [{ dnsPolicy: 'Odd' }, {}, cluster],
    [{}, { clusterDomain: '' }, { ...cluster, searches: host.searches }],
    [{}, { resolvConf: undefined }, { ...cluster, searches: cluster.searches.slice(0, 3) }],
    [{ dnsPolicy: 'Default' }, { resolvConf: undefined }, loopback],
    [{ dnsPolicy: 'Default' }, { resolvConf: undefined, nodeIps: [] }, loopback],
    [
      { dnsPolicy: 'Default' },
      { resolvConf: undefined, nodeIps: ['10.0.0.1', 'fd00::1'] },
      { ...loopback, servers: ['127.0.0.1', '::1'] },
    ],
  ])('of %j with the settings %j is applied', (spec, overrides, config) =>
    expect(dns(spec, overrides)).toEqual({ config, warnings: [] }),
  );

  test('falls back to the host’s DNS without a cluster DNS, with a warning for the pod and the node', () => {
    const nodeMessage =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
    expect(dns({}, { clusterDns: [] })).toEqual({
      config: host,
      warnings: [{ reason: 'MissingClusterDNS', message: `pod: "p_default(u1)". ${nodeMessage}`, nodeMessage }],
    });
  });
});

test('the pod’s own dnsConfig is appended without duplicates, and its options take precedence', () => {
  const own = {
    nameservers: ['1.1.1.1', '10.96.0.10'],
    searches: ['own.example', 'cluster.local'],
    options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }, { value: 'nameless' }],
  };
  expect(dns({ dnsConfig: own }).config).toEqual({
    servers: ['10.96.0.10', '1.1.1.1'],
    searches: [...cluster.searches, 'own.example'],
    options: ['ndots:2', 'edns0'],
  });
});

describe('the limits of DNS settings', () => {
  const none = (dnsConfig: Pod['spec']['dnsConfig']) => ({
    dnsPolicy: 'None',
    ...(dnsConfig !== undefined && { dnsConfig }),
  });
  const names = (count: number, length: number) =>
    Array.from({ length: count }, (_, index) => String(index).padStart(length, 'x'));
  const omitted = 'Search Line limits were exceeded, some search paths have been omitted, the applied search line is:';

  test('allow three name servers', () => {
    const nameservers = ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'];
    const made = dns(none({ nameservers }));
    expect(made.config.servers).toEqual(nameservers.slice(0, 3));
    const message =
      'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1.1.1.1 1.1.1.2 1.1.1.3';
    expect(made.warnings).toEqual([{ reason: 'DNSConfigForming', message }]);
  });

  test.each([
    ['allow 32 searches', names(33, 3), names(33, 3).slice(0, 32)],
    ['allow 2048 characters', names(30, 100), names(30, 100).slice(0, 20)],
    ['allow no name of more than 253 characters', ['a', 'x'.repeat(254), 'b'], ['a', 'b']],
  ])('%s', (_, searches, expected) => {
    const made = dns(none({ searches }));
    expect(made.config.searches).toEqual(expected);
    expect(made.warnings).toEqual([{ reason: 'DNSConfigForming', message: `${omitted} ${expected.join(' ')}` }]);
  });

  test('leave settings within the limits unchanged', () => {
    const searches = [...names(8, 253), 'x'.repeat(2048 - 8 * 254)];
    expect(dns(none({ searches }))).toMatchObject({ config: { searches }, warnings: [] });
  });

  test('hold for every dnsConfig, with a warning about everything that is omitted', () => {
    const name = fc.string({ minLength: 1, maxLength: 300, unit: fc.constantFrom('a', 'b', '-') });
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { maxLength: 60 }),
        fc.uniqueArray(name, { maxLength: 5 }),
        (searches, nameservers) => {
          const { config, warnings } = dns(none({ searches, nameservers }));
          expect(config.servers.length).toBeLessThanOrEqual(3);
          expect(config.searches.length).toBeLessThanOrEqual(32);
          expect(config.searches.join(' ').length).toBeLessThanOrEqual(2048);
          expect(config.searches.every((search) => search.length <= 253)).toBe(true);
          expect(searches.filter((search) => config.searches.includes(search))).toEqual(config.searches);
          const cut = [config.servers.length < nameservers.length, config.searches.length < searches.length];
          expect(warnings).toHaveLength(cut.filter(Boolean).length);
        },
      ),
    );
  });
});
