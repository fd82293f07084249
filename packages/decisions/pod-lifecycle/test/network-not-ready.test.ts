import { expect, test } from '@jest/globals';
import { networkNotReady } from '../src/index.ts';

test.each([
  ['no state published', undefined, 'network state unknown'],
  [
    'missing plugins',
    {
      ready: false,
      reason: 'NetworkPluginNotReady',
      message: 'Network plugin returns error: cni plugin not initialized',
    },
    'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady ' +
      'message:Network plugin returns error: cni plugin not initialized',
  ],
  ['no reason', { ready: false }, 'container runtime network not ready: NetworkReady=false reason: message:'],
])('the message for a network that is not ready: %s', (_, word, text) => {
  expect(networkNotReady(word)).toBe(`network is not ready: ${text}`);
});
