import { expect, test } from '@jest/globals';
import { describeClaims, describeNetwork, describeVolumes } from './describe-pod.ts';

test('the network of a pod lists its interfaces with their problems', () => {
  const attachment = {
    containerId: 'c1',
    ifname: 'eth0',
    network: 'kubus',
    plugins: ['bridge', 'portmap'],
    since: '2030-01-01T00:00:00.000Z',
    interfaces: [{ name: 'kubus0' }, { name: 'eth0', mac: '02:00:00:00:00:02', sandbox: '/run/netns/a' }],
    ips: [{ address: '10.88.0.2/16', gateway: '10.88.0.1', interface: 1 }, { address: 'fd88::2/64' }],
    routes: [{ dst: '0.0.0.0/0', gw: '10.88.0.1' }],
    dns: {},
    problem: 'plugin portmap failed (CHECK): lost',
  };
  const ref = { namespace: 'default', name: 'web', uid: 'a' };
  expect(describeNetwork({ ref, attachments: [attachment] })).toEqual([
    'Network:',
    '  eth0:',
    '    Network:       kubus (bridge, portmap)',
    '    Addresses:     10.88.0.2/16 via 10.88.0.1, fd88::2/64',
    '    MAC:           02:00:00:00:00:02',
    '    Routes:        0.0.0.0/0 via 10.88.0.1',
    '    Problem:       plugin portmap failed (CHECK): lost',
  ]);
  expect(describeNetwork(undefined)).toEqual([]);
});

test('the claims of a pod are listed with their devices, also one that is not prepared yet', () => {
  const device = { pool: 'node0', device: 'd0', requests: ['r'], cdiDevices: ['a.test/gpu=d0'] };
  const prepared = { name: 'gpu', uid: 'u', drivers: [{ driver: 'a.test', devices: [device] }] };
  expect(describeClaims({ claims: [prepared, { name: 'late', uid: 'l', drivers: [] }] })).toEqual([
    'Claims:',
    '  CLAIM   DRIVER   DEVICE     HEALTH    CDI\n  gpu     a.test   node0/d0   Unknown   a.test/gpu=d0\n  late             -',
  ]);
  const hot = { ...device, health: 'Unhealthy' as const, healthMessage: 'too hot' };
  const ill = { ...prepared, drivers: [{ driver: 'a.test', devices: [hot] }] };
  expect(describeClaims({ claims: [ill] })[1]).toContain('node0/d0   Unhealthy (too hot)   a.test/gpu=d0');
  const away = { ...prepared, drivers: [{ driver: 'a.test', connected: false, devices: [device] }] };
  expect(describeClaims({ claims: [away] })[1]).toContain('a.test (not connected)');
  expect(describeClaims(undefined)).toEqual([]);
});

test('the volumes of a pod are listed with their host paths and the objects they wait for', () => {
  const spec = {
    containers: [],
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'keys', secret: {} },
    ],
  };
  const ref = { namespace: 'default', name: 'web', uid: 'a' };
  const mounted = { ref, ready: false, volumes: { data: { hostPath: '/pods/a/data' } }, awaits: ['Secret x/keys'] };
  expect(describeVolumes({ spec }, mounted)).toEqual([
    'Volumes:',
    '  NAME   KIND       HOST PATH\n  data   emptyDir   /pods/a/data\n  keys   secret     -\n  waiting for: Secret x/keys',
  ]);
  expect(describeVolumes({ spec: { containers: [] } }, undefined)).toEqual([]);
});
