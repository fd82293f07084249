import { expect, test } from '@jest/globals';
import { tmpdir } from 'node:os';
import { inTransientScope } from '../src/processes/transient-scope.ts';

const command = ['nsenter', '--net=/n', '--', 'node', 'main.mjs'] as const;

test('a command runs in a scope of its own where systemd is, and as it is elsewhere', () => {
  expect(inTransientScope('kubus-a-7', 'node a', [...command], tmpdir())).toEqual([
    ...['systemd-run', '--scope', '--quiet', '--collect', '--unit=kubus-a-7', '--description=node a', '--'],
    ...command,
  ]);
  expect(inTransientScope('kubus-a-7', 'node a', [...command], '/nowhere')).toEqual(command);
});
