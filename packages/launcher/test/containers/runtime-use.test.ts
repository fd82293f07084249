import { expect, test } from '@jest/globals';
import { checkRuntimeUse, sandboxesOfOthers } from '../../src/containers/runtime-use.ts';

const own = '/var/lib/kubus/guest/pod-logs';
const sandbox = (logDirectory: string | undefined) => ({ namespace: 'default', name: 'web', logDirectory });

test.each([
  ['its own', `${own}/default_web_1`, false],
  ["a kubelet's", '/var/log/pods/default_web_1', true],
  ["another node's", '/var/lib/kubus/other/pod-logs/default_web_1', true],
  ['one whose folder only begins so', `${own}-of-others/default_web_1`, true],
  ['one of a runtime that does not say it', undefined, false],
])('%s', (_, logDirectory, isOthers) => {
  for (const podLogs of [own, `${own}/`]) {
    expect(sandboxesOfOthers([sandbox(logDirectory)], podLogs)).toEqual(isOthers ? [sandbox(logDirectory)] : []);
  }
});

test('in the place of a kubelet its pods are taken over', () => {
  expect(sandboxesOfOthers([sandbox('/var/log/pods/default_web_1')], '/var/log/pods')).toEqual([]);
});

test('a runtime that does not answer is named', async () => {
  await expect(checkRuntimeUse('/no/such.sock', own)).rejects.toMatchObject({
    code: 'NoRuntime',
    message: expect.stringContaining('/no/such.sock') as unknown,
  });
});
