import { describe, expect, test } from '@jest/globals';
import { defaultInterface4, defaultInterface6, nodeIps } from '../../src/kubelet/node-ips.ts';

describe('the interface of the default route', () => {
  const head = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';
  test.each([
    [
      `${head}eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\neth1\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n`,
      'eth1',
    ],
    [`${head}eth0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n`, undefined],
    ['', undefined],
  ])('of IPv4 in %j', (table, name) => {
    expect(defaultInterface4(table)).toBe(name);
  });

  const zero = '0'.repeat(32);
  test.each([
    [`${zero} 00 ${zero} 00 fe80${'0'.repeat(27)}1 00000400 00000001 00000000 00000003     eth0\n`, 'eth0'],
    [`${zero} 00 ${zero} 00 ${zero} ffffffff 00000001 00000000 00200200       lo\n`, undefined],
    [`fe80${'0'.repeat(28)} 40 ${zero} 00 ${zero} 00000100 00000001 00000000 00000001     eth0\n`, undefined],
  ])('of IPv6 in %j', (table, name) => {
    expect(defaultInterface6(table)).toBe(name);
  });
});

test.each([
  ['10.0.0.1', ['10.0.0.1']],
  ['10.0.0.1,fd00::1', ['10.0.0.1', 'fd00::1']],
])('--node-ip=%s is used unchanged', async (flag, ips) => {
  expect(await nodeIps(flag)).toEqual(ips);
});

test('a --node-ip that is not an address is refused', async () => {
  await expect(nodeIps('10.0.0.1,here')).rejects.toThrow('bad --node-ip "10.0.0.1,here": "here" is no IP address');
});
