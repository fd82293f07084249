import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CniError } from './cni-error.ts';
import { CNI_VERSIONS, type CniVersion, isAtLeast } from './cni-version.ts';
import { type CniResult, addressesOf, formatResult, parseResult, requireAddress } from './result.ts';

const full: CniResult = {
  interfaces: [
    { name: 'cni0', mac: '00:11:22:33:44:55' },
    {
      name: 'eth0',
      mac: '99:88:77:66:55:44',
      mtu: 1450,
      sandbox: '/run/netns/a',
      socketPath: '/run/s',
      pciID: '00:1f.6',
    },
  ],
  ips: [
    { address: '10.88.0.5/16', gateway: '10.88.0.1', interface: 1 },
    { address: 'fd00:88::5/64', gateway: 'fd00:88::1', interface: 1 },
  ],
  routes: [{ dst: '0.0.0.0/0', gw: '10.88.0.1', mtu: 1400, priority: 10, table: 254, scope: 0 }, { dst: '::/0' }],
  dns: { nameservers: ['10.96.0.10'], search: ['cluster.local'], options: ['ndots:5'] },
};

describe('formatResult', () => {
  const { mtu: _mtu, socketPath: _socketPath, pciID: _pciID, ...eth0 } = full.interfaces[1] ?? { name: '' };
  const plainRoutes = [{ dst: '0.0.0.0/0', gw: '10.88.0.1' }, { dst: '::/0' }];
  const listed = { interfaces: [full.interfaces[0], eth0], routes: plainRoutes, dns: full.dns };
  const versioned = [
    { version: '4', ...full.ips[0] },
    { version: '6', ...full.ips[1] },
  ];
  const perFamily = {
    ip4: { ip: '10.88.0.5/16', gateway: '10.88.0.1', routes: [{ dst: '0.0.0.0/0', gw: '10.88.0.1' }] },
    ip6: { ip: 'fd00:88::5/64', gateway: 'fd00:88::1', routes: [{ dst: '::/0' }] },
    dns: full.dns,
  };

  test.each<[CniVersion, unknown]>([
    ['0.1.0', perFamily],
    ['0.2.0', perFamily],
    ['0.3.0', { ...listed, ips: versioned }],
    ['0.3.1', { ...listed, ips: versioned }],
    ['0.4.0', { ...listed, ips: versioned }],
    ['1.0.0', { ...listed, ips: full.ips }],
    ['1.1.0', full],
  ])('formats a result as %s', (version, expected) => {
    expect(JSON.parse(JSON.stringify(formatResult(full, version)))).toEqual({
      cniVersion: version,
      ...(expected as Record<string, unknown>),
    });
  });

  test('omits empty fields', () => {
    const empty: CniResult = { interfaces: [], ips: [], routes: [], dns: {} };
    expect(formatResult(empty, '1.0.0')).toEqual({ cniVersion: '1.0.0' });
  });

  test('throws for a result without an address in the oldest versions', () => {
    expect(() => formatResult({ ...full, ips: [] }, '0.2.0')).toThrow(expect.objectContaining({ cniCode: 1 }));
  });
});

describe('parseResult', () => {
  test.each(CNI_VERSIONS)('reads back what was formatted as %s', (version) => {
    const printed = JSON.stringify(formatResult(full, version));
    const read = parseResult(printed, version);
    expect(JSON.stringify(formatResult(read, version))).toBe(printed);
  });

  test('reads a result without a version in that of the configuration', () => {
    const old = '{"ip4": {"ip": "10.1.2.3/24", "gateway": "10.1.2.1", "routes": [{"dst": "0.0.0.0/0"}]}, "dns": {}}';
    expect(parseResult(old, '0.2.0')).toEqual({
      interfaces: [],
      ips: [{ address: '10.1.2.3/24', gateway: '10.1.2.1' }],
      routes: [{ dst: '0.0.0.0/0' }],
      dns: {},
    });
    expect(parseResult(old, '1.0.0').ips).toEqual([]);
  });

  test('treats null as absent', () => {
    expect(
      parseResult('{"cniVersion":"1.0.0","interfaces":null,"ips":null,"routes":null,"dns":null}', '1.0.0'),
    ).toEqual({
      interfaces: [],
      ips: [],
      routes: [],
      dns: {},
    });
  });

  test.each([
    ['', 6, 'the result is not JSON'],
    ['Segmentation fault', 6, 'the result is not JSON'],
    ['[]', 6, 'the result is not valid: Invalid input: expected object, received array'],
    ['{"cniVersion": "3.0.0"}', 1, 'the result is of CNI version "3.0.0"; supported are '],
    ['{"ips": [{"address": "10.88.0.5"}]}', 6, 'ips[0].address: is not an address with prefix length'],
    ['{"ips": [{"address": "10.88.0.999/16"}]}', 6, 'ips[0].address: is not an address with prefix length'],
    ['{"ips": [{"address": "10.88.0.5/16", "gateway": "x"}]}', 6, 'ips[0].gateway: is not an IP address'],
    [
      '{"ips": [{"address": "10.88.0.5/16", "interface": 1}], "interfaces": [{"name": "a"}]}',
      6,
      'gives 10.88.0.5/16 to interface 1',
    ],
    ['{"interfaces": [{"mac": "00:11:22:33:44:55"}]}', 6, 'interfaces[0].name: '],
    ['{"routes": [{"dst": "default"}]}', 6, 'routes[0].dst: '],
  ])('refuses %j', (stdout, cniCode, message) => {
    expect(() => parseResult(stdout, '1.0.0')).toThrow(
      expect.objectContaining({ cniCode, message: expect.stringContaining(message) }),
    );
  });

  test('returns a result or throws a CniError, whatever a plugin prints', () => {
    const version = fc.constantFrom(...CNI_VERSIONS);
    const ips = fc.record({
      cniVersion: version,
      ips: fc.array(fc.record({ address: fc.string(), interface: fc.integer() })),
    });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          ips.map((value) => JSON.stringify(value)),
        ),
        version,
        (stdout, configured) => {
          try {
            parseResult(stdout, configured);
          } catch (error) {
            expect(error).toBeInstanceOf(CniError);
          }
        },
      ),
    );
  });
});

test('addresses are kept by every conversion', () => {
  const v4 = fc.ipV4().map((ip) => `${ip}/24`);
  const v6 = fc.ipV6().map((ip) => `${ip}/64`);
  const result: fc.Arbitrary<CniResult> = fc.record({
    interfaces: fc.constant([{ name: 'cni0' }, { name: 'eth0', sandbox: '/run/netns/a' }]),
    ips: fc.tuple(v4, v6).map((pair) => pair.map((address) => ({ address, interface: 1 }))),
    routes: fc.constant([{ dst: '0.0.0.0/0' }]),
    dns: fc.constant({}),
  });
  const version = fc.constantFrom(...CNI_VERSIONS);
  fc.assert(
    fc.property(result, version, version, (original, chain, asked) => {
      const answered = parseResult(JSON.stringify(formatResult(original, chain)), chain);
      const seen = parseResult(JSON.stringify(formatResult(answered, asked)), asked);
      expect(addressesOf(seen, 'eth0')).toEqual(addressesOf(original, 'eth0'));
      const named = isAtLeast(chain, '0.3.0') && isAtLeast(asked, '0.3.0');
      expect(addressesOf(seen, 'cni0')).toEqual(named ? [] : addressesOf(original, 'eth0'));
    }),
  );
});

describe('requireAddress', () => {
  test('accepts an address of the interface, or of no interface', () => {
    expect(() => requireAddress(full, 'eth0')).not.toThrow();
    expect(() => requireAddress({ ...full, interfaces: [], ips: [{ address: '10.0.0.1/8' }] }, 'eth0')).not.toThrow();
  });

  test.each([
    ['no address', { ...full, ips: [] }, 'eth0'],
    ['an address of another interface', full, 'net1'],
  ])('refuses %s', (_, result, ifname) => {
    expect(() => requireAddress(result, ifname)).toThrow(`the chain gave no address to interface ${ifname}`);
  });
});
