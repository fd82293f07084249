import { expect, test } from '@jest/globals';
import { checkRuntimeUse, sandboxesOfOthers } from '../../src/containers/runtime-use.ts';

const own = '/var/lib/kubus/guest/pod-logs';
const sandbox = (logDirectory: string | undefined) => ({ namespace: 'default', name: 'web', logDirectory });

test.each([
  ['its own', `${own}/default_web_1`, false],
  ["a kubelet's", '/var/log/pods/default_web_1', true],
  ["another node's", '/var/lib/kubus/other/pod-logs/default_web_1', true],
  ['a folder that only has the same prefix', `${own}-of-others/default_web_1`, true],
  ['a sandbox without a log directory', undefined, false],
])('%s', (_, logDirectory, isOthers) => {
  for (const podLogs of [own, `${own}/`]) {
    expect(sandboxesOfOthers([sandbox(logDirectory)], podLogs)).toEqual(isOthers ? [sandbox(logDirectory)] : []);
  }
});

test('the pods of a kubelet are taken over when its log directory is used', () => {
  expect(sandboxesOfOthers([sandbox('/var/log/pods/default_web_1')], '/var/log/pods')).toEqual([]);
});

test('a runtime that does not answer is reported with its socket', async () => {
  await expect(checkRuntimeUse('/no/such.sock', own)).rejects.toMatchObject({
    code: 'NoRuntime',
    message: expect.stringContaining('/no/such.sock') as unknown,
  });
});
