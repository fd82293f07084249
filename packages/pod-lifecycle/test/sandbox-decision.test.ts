import { expect, test } from '@jest/globals';
import { sandboxDecision } from '../src/sandbox-decision.ts';
import { pod, run, runtime, sandbox } from './states.ts';

const withSandbox = (overrides: Parameters<typeof sandbox>[0]) => ({
  ...runtime([run()]),
  sandboxes: [sandbox(overrides)],
});

test.each([
  ['the pod network is wanted and there', {}, false, 'keep'],
  ['the host network is wanted and there', { hostNetwork: true, ips: [] }, true, 'keep'],
  ['the host network is wanted, the pod network is there', {}, true, 'create'],
  ['the pod network is wanted, the host network is there', { hostNetwork: true }, false, 'create'],
  ['the runtime does not say which one it is', { hostNetwork: undefined }, false, 'keep'],
  ['the runtime does not say which one it is, for the host network', { hostNetwork: undefined, ips: [] }, true, 'keep'],
  ['there is no address', { ips: [] }, false, 'create'],
  ['it does not run', { ready: false }, false, 'create'],
])('%s', (_, overrides, hostNetwork, kind) => {
  expect(sandboxDecision(pod({ hostNetwork }), withSandbox(overrides)).kind).toBe(kind);
});
