import { expect, test } from '@jest/globals';
import { exitCode } from './exit-status.ts';

const failure = (causes?: object[], message = 'command terminated with non-zero exit code') =>
  JSON.stringify({ metadata: {}, status: 'Failure', message, ...(causes && { details: { causes } }) });

test.each([
  ['{"metadata":{},"status":"Success"}', 0],
  [failure([{ reason: 'ExitCode', message: '3' }]), 3],
  [
    failure([
      { reason: 'Other', message: '3' },
      { reason: 'ExitCode', message: '137' },
    ]),
    137,
  ],
])('%s is the exit code %d', (said, code) => {
  expect(exitCode(said)).toBe(code);
});

test.each([
  [failure(undefined, 'exec failed: no such file'), 'refused', 'exec failed: no such file'],
  [failure([{ reason: 'ExitCode', message: 'many' }], 'odd'), 'refused', 'odd'],
  ['{"status":"Failure"}', 'refused', 'the command could not be run'],
  ['', 'broken', 'the connection to the command was lost: its exit status was not reported'],
  ['{"status":', 'broken', 'its exit status was reported as "{\\"status\\":"'],
  ['[]', 'broken', 'its exit status was reported as "[]"'],
])('%s is not an exit status: %s', (said, code, message) => {
  expect(() => exitCode(said)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
});
