// A file system whose server never answers: FUSE, with the server's side held open by the test (fuse(4)).
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MountError, checkAnswers, mountsBelow, unmount } from '../src/index.ts';

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-answers-')));
});
afterEach(async () => {
  for (const { target } of await mountsBelow(dir)) await unmount(target, { how: 'lazy' });
  rmSync(dir, { recursive: true });
});

test('access to a file system whose server does not answer times out without delaying other access', async () => {
  const silent = join(dir, 'silent');
  mkdirSync(silent);
  const server = openSync('/dev/fuse', 'r+');
  try {
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0';
    const mount = ['-i', '-t', 'fuse', '-o', options, 'fuse', silent];
    const [code] = (await once(spawn('mount', mount, { stdio: ['ignore', 'inherit', 'inherit', server] }), 'exit')) as [
      number,
    ];
    expect(code).toBe(0);
    const asked = Array.from({ length: 8 }, (_, i) => checkAnswers(join(silent, `folder-${i}`), 200));
    for (const one of asked) await expect(one).rejects.toThrow(MountError);
    await expect(checkAnswers(silent, 200)).rejects.toMatchObject({ code: 'timed-out' });
    await checkAnswers(dir, 200);
  } finally {
    // Ends all processes that wait for it.
    closeSync(server);
  }
});

test('local file systems are not checked', async () => {
  await checkAnswers(join(dir, 'missing'), 200);
});
