import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CniError, formatError, parseError } from './cni-error.ts';
import { CNI_VERSIONS } from './cni-version.ts';
import { type Invocation, answerVersion, parseInvocation, podOf, versionAnswer } from './invocation.ts';

const add: Invocation = {
  command: 'ADD',
  containerId: 'c1',
  netns: '/run/netns/a',
  ifname: 'eth0',
  args: '',
  path: '/opt/cni/bin',
  stdin: '{"cniVersion":"1.0.0","name":"kubus","type":"kubus-cni"}',
  name: 'kubus-cni',
};

describe('parseInvocation', () => {
  test('accepts ADD with capability arguments', () => {
    const stdin = JSON.stringify({ cniVersion: '0.4.0', runtimeConfig: { mac: 'c2:11:22:33:44:55' } });
    expect(parseInvocation({ ...add, stdin })).toEqual({
      command: 'ADD',
      cniVersion: '0.4.0',
      containerId: 'c1',
      ifname: 'eth0',
      netns: '/run/netns/a',
      args: '',
      capabilityArgs: { mac: 'c2:11:22:33:44:55' },
      prevResult: undefined,
    });
  });

  test('accepts DEL without a namespace, with the result that the runtime has kept', () => {
    const prevResult = { cniVersion: '1.0.0', ips: [{ address: '10.88.0.5/16' }] };
    const call = parseInvocation({
      ...add,
      command: 'DEL',
      netns: '',
      stdin: JSON.stringify({ cniVersion: '1.0.0', prevResult }),
    });
    expect(call).toMatchObject({ command: 'DEL', netns: '', prevResult: { ips: [{ address: '10.88.0.5/16' }] } });
  });

  test('ignores a damaged previous result of DEL', () => {
    const stdin = JSON.stringify({ cniVersion: '1.0.0', prevResult: { ips: 7 } });
    expect(parseInvocation({ ...add, command: 'DEL', stdin })).toMatchObject({ prevResult: undefined });
  });

  test('reads the containers of GC', () => {
    const stdin = JSON.stringify({
      cniVersion: '1.1.0',
      'cni.dev/valid-attachments': [{ containerID: 'c1', ifname: 'eth0' }],
    });
    expect(parseInvocation({ ...add, command: 'GC', containerId: '', stdin })).toEqual({
      command: 'GC',
      cniVersion: '1.1.0',
      validContainerIds: new Set(['c1']),
    });
  });

  test.each([
    ['', '1.1.0'],
    ['{"cniVersion":"0.3.1"}', '0.3.1'],
    ['{"cniVersion":"7.0.0"}', '1.1.0'],
  ])('accepts VERSION with any input: %j', (stdin, cniVersion) => {
    expect(parseInvocation({ ...add, command: 'VERSION', stdin })).toEqual({ command: 'VERSION', cniVersion });
  });

  test.each<[Partial<Invocation>, number, string]>([
    [{ command: 'MOVE' }, 4, 'CNI_COMMAND is "MOVE"; it must be one of ADD, DEL, CHECK, VERSION, STATUS, GC'],
    [{ containerId: '' }, 4, 'CNI_CONTAINERID is ""'],
    [{ containerId: '../x' }, 4, 'CNI_CONTAINERID is "../x"'],
    [{ ifname: '' }, 4, 'CNI_IFNAME is ""'],
    [{ ifname: '..' }, 4, 'CNI_IFNAME is ".."'],
    [{ ifname: 'a/b' }, 4, 'CNI_IFNAME is "a/b"'],
    [{ ifname: 'a:b' }, 4, 'CNI_IFNAME is "a:b"'],
    [{ ifname: 'sixteen-letters-' }, 4, 'CNI_IFNAME is "sixteen-letters-"'],
    [{ netns: '' }, 4, 'CNI_NETNS is empty; ADD needs a network namespace'],
    [{ command: 'CHECK', netns: '' }, 4, 'CNI_NETNS is empty; CHECK needs a network namespace'],
    [{ stdin: '' }, 6, 'is not JSON'],
    [{ stdin: '{"cniVersion":"7.0.0"}' }, 1, 'is of CNI version "7.0.0"; supported are 0.1.0, '],
    [{ stdin: '{"cniVersion":1}' }, 7, 'cniVersion: '],
    [{ command: 'GC' }, 7, 'cni.dev/valid-attachments: is missing'],
  ])('refuses %j with code %i', (change, cniCode, message) => {
    expect(() => parseInvocation({ ...add, ...change })).toThrow(
      expect.objectContaining({ cniCode, message: expect.stringContaining(message) }),
    );
  });

  test('throws a CniError for anything that is not a call', () => {
    const anything = fc.record({
      command: fc.constantFrom('ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION', ''),
      containerId: fc.string(),
      netns: fc.string(),
      ifname: fc.string(),
      args: fc.string(),
      path: fc.string(),
      stdin: fc.oneof(fc.string(), fc.json()),
      name: fc.string(),
    });
    fc.assert(
      fc.property(anything, (invocation) => {
        try {
          parseInvocation(invocation);
        } catch (error) {
          expect(error).toBeInstanceOf(CniError);
        }
      }),
    );
  });
});

test('an error is returned in the requested version, where that can be read', () => {
  expect(answerVersion('{"cniVersion":"0.3.0"}')).toBe('0.3.0');
  expect(answerVersion('{"cniVersion":"7.0.0"}')).toBe('1.1.0');
  expect(answerVersion('garbage')).toBe('1.1.0');
});

test('the answer to VERSION lists every version', () => {
  expect(JSON.parse(versionAnswer('0.4.0'))).toEqual({ cniVersion: '0.4.0', supportedVersions: [...CNI_VERSIONS] });
});

test.each([
  [
    'IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=u=1',
    { namespace: 'default', name: 'web', uid: 'u=1' },
  ],
  ['K8S_POD_NAMESPACE=default;K8S_POD_NAME=web', { namespace: 'default', name: 'web', uid: '' }],
  ['K8S_POD_NAME=web', undefined],
  ['', undefined],
])('podOf(%j) reads the pod from the arguments', (args, expected) => {
  expect(podOf(args)).toEqual(expected);
});

test('parseError returns what formatError has printed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 999 }), fc.string(), fc.string(), (code, message, details) => {
      const printed = formatError(new CniError(code, message, { details }), '1.0.0');
      expect(JSON.parse(printed)).toMatchObject({ cniVersion: '1.0.0', code, msg: message });
      expect(parseError(printed)).toMatchObject({ cniCode: code, message, details });
    }),
  );
});

test.each(['', 'text', '{"code":0,"msg":"x"}', '{"msg":"x"}', '[1]'])('parseError(%j) is undefined', (stdout) => {
  expect(parseError(stdout)).toBeUndefined();
});
