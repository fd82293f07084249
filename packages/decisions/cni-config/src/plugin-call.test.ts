import { describe, expect, test } from '@jest/globals';
import type { CniResult } from './result.ts';
import type { NetworkConfig } from './network-config.ts';
import { declaredArgs, nodeArgs, pluginEnv, pluginStdin, requireSuccess } from './plugin-call.ts';

const portmap = { type: 'portmap', snat: true, capabilities: { portMappings: true, bandwidth: false } };
const network: NetworkConfig = {
  file: '10-pods.conflist',
  name: 'pods',
  cniVersion: '0.4.0',
  disableCheck: false,
  disableGC: false,
  plugins: [portmap],
};
const capabilityArgs = {
  portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp', hostIP: '' }],
  bandwidth: { ingressRate: 1 },
  dns: { servers: ['10.96.0.10'] },
};
const prevResult: CniResult = {
  interfaces: [{ name: 'eth0', sandbox: '/run/netns/a' }],
  ips: [{ address: '10.88.0.5/16', interface: 0 }],
  routes: [],
  dns: {},
};

test('nodeArgs has one set of ranges for each of the node’s podCIDRs', () => {
  expect(nodeArgs([])).toEqual({});
  expect(nodeArgs(['10.1.0.0/24', 'fd01::/64'])).toEqual({
    ipRanges: [[{ subnet: '10.1.0.0/24' }], [{ subnet: 'fd01::/64' }]],
  });
});

describe('pluginStdin', () => {
  test('passes to a plugin what it declares, in the form of its version', () => {
    expect(JSON.parse(pluginStdin({ network, plugin: portmap, capabilityArgs, prevResult }))).toEqual({
      type: 'portmap',
      snat: true,
      name: 'pods',
      cniVersion: '0.4.0',
      runtimeConfig: { portMappings: capabilityArgs.portMappings },
      prevResult: {
        cniVersion: '0.4.0',
        interfaces: [{ name: 'eth0', sandbox: '/run/netns/a' }],
        ips: [{ version: '4', address: '10.88.0.5/16', interface: 0 }],
      },
    });
  });

  test.each([
    ['the runtime passes nothing', portmap, {}],
    ['the plugin declares nothing', { type: 'bridge' }, capabilityArgs],
    ['the plugin declares it as false', { type: 'bridge', capabilities: { dns: false } }, capabilityArgs],
  ])('has no runtimeConfig where %s', (_, plugin, args) => {
    expect(JSON.parse(pluginStdin({ network, plugin, capabilityArgs: args }))).not.toHaveProperty('runtimeConfig');
  });

  test('takes name and version from the network', () => {
    const plugin = { type: 'bridge', name: 'mine', cniVersion: '0.2.0' };
    expect(JSON.parse(pluginStdin({ network, plugin }))).toEqual({ type: 'bridge', name: 'pods', cniVersion: '0.4.0' });
  });

  test('lists the valid attachments for GC', () => {
    const validAttachments = [{ containerId: 'c1', ifname: 'eth0' }];
    expect(JSON.parse(pluginStdin({ network, plugin: portmap, validAttachments }))).toMatchObject({
      'cni.dev/valid-attachments': [{ containerID: 'c1', ifname: 'eth0' }],
    });
  });
});

test('declaredArgs are those that a plugin of the chain declares', () => {
  const plugins = [{ type: 'bridge', capabilities: { dns: true } }, portmap];
  const { portMappings, dns } = capabilityArgs;
  expect(declaredArgs({ ...network, plugins }, capabilityArgs)).toEqual({ portMappings, dns });
});

test('pluginEnv contains the variables of the protocol', () => {
  const target = { containerId: 'c1', ifname: 'eth0', netns: '/run/netns/a', args: 'IgnoreUnknown=1' };
  expect(pluginEnv('ADD', target)).toEqual({
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: 'c1',
    CNI_NETNS: '/run/netns/a',
    CNI_IFNAME: 'eth0',
    CNI_ARGS: 'IgnoreUnknown=1',
  });
});

describe('requireSuccess', () => {
  const failure = { exitCode: 1, stdout: '', stderr: '' };

  test.each([
    [
      'keeps the code of a CNI error',
      {
        ...failure,
        stdout: '{"cniVersion":"1.0.0","code":100,"msg":"no free address","details":"range full"}',
        stderr: 'log',
      },
      { cniCode: 100, message: 'plugin host-local failed (ADD): no free address', details: 'range full; log' },
    ],
    [
      'reports text on standard output',
      { ...failure, exitCode: 2, stdout: 'panic: nil\n' },
      { cniCode: 999, message: expect.stringContaining('exit code 2'), details: 'panic: nil' },
    ],
    ['reports a failure without output', failure, { cniCode: 999, details: '' }],
    [
      'reports JSON that is not a CNI error',
      { ...failure, stdout: '{"ok":false}', stderr: 'x' },
      { cniCode: 999, details: 'x; {"ok":false}' },
    ],
    ['truncates long output', { ...failure, stderr: 'e'.repeat(10_000) }, { details: `${'e'.repeat(500)}...` }],
  ])('%s', (_, output, expected) => {
    expect(() => requireSuccess('host-local', 'ADD', output)).toThrow(expect.objectContaining(expected));
  });

  test('accepts exit code 0', () => {
    expect(() => requireSuccess('host-local', 'ADD', { ...failure, exitCode: 0 })).not.toThrow();
  });
});
