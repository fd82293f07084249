import { expect, test } from '@jest/globals';
import { networkNotReady } from '../src/index.ts';

test.each([
  ['nobody has spoken', undefined, 'network state unknown'],
  [
    'its plugins are not there',
    {
      ready: false,
      reason: 'NetworkPluginNotReady',
      message: 'Network plugin returns error: cni plugin not initialized',
    },
    'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady ' +
      'message:Network plugin returns error: cni plugin not initialized',
  ],
  ['nothing says why', { ready: false }, 'container runtime network not ready: NetworkReady=false reason: message:'],
])('the network is not ready: %s', (_, word, text) => {
  expect(networkNotReady(word)).toBe(`network is not ready: ${text}`);
});
