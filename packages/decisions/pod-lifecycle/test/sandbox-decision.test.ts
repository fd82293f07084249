import { expect, test } from '@jest/globals';
import { sandboxDecision } from '../src/sandbox-decision.ts';
import { pod, run, runtime, sandbox } from './states.ts';

const withSandbox = (overrides: Parameters<typeof sandbox>[0]) => ({
  ...runtime([run()]),
  sandboxes: [sandbox(overrides)],
});

test.each([
  ['the pod network is requested and in use', {}, false, 'keep'],
  ['the host network is requested and in use', { hostNetwork: true, ips: [] }, true, 'keep'],
  ['the host network is requested, the pod network is in use', {}, true, 'create'],
  ['the pod network is requested, the host network is in use', { hostNetwork: true }, false, 'create'],
  ['the runtime does not report the network mode', { hostNetwork: undefined }, false, 'keep'],
  [
    'the runtime does not report the network mode, for the host network',
    { hostNetwork: undefined, ips: [] },
    true,
    'keep',
  ],
  ['the sandbox has no address', { ips: [] }, false, 'create'],
  ['the sandbox is not running', { ready: false }, false, 'create'],
])('the decision about a sandbox when %s', (_, overrides, hostNetwork, kind) => {
  expect(sandboxDecision(pod({ hostNetwork }), withSandbox(overrides)).kind).toBe(kind);
});
