import { expect, test } from '@jest/globals';
import { parseNetworkConfig } from './network-config.ts';
import { runtimeNetwork } from './runtime-network.ts';

test('the runtime’s network configuration is valid, and the shim is its only plugin', () => {
  expect(parseNetworkConfig('10-kubus.conflist', runtimeNetwork())).toMatchObject({
    name: 'kubus',
    cniVersion: '1.1.0',
    plugins: [{ type: 'kubus-cni', capabilities: { portMappings: true, bandwidth: true, dns: true, mac: true } }],
  });
  expect(JSON.parse(runtimeNetwork())).toMatchObject({ cniVersion: '1.0.0' });
});
