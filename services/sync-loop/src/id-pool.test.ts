import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { idPool } from './id-pool.ts';

let folder: string;
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'kubus-ids-'))));
afterAll(() => rm(folder, { recursive: true }));

/** The pool on a machine with these users, where getsubids is a script with this text. */
async function poolOf(users: string, script: string | undefined, idsPerPod = 65_536) {
  const sources = { passwd: join(folder, 'passwd'), getsubids: join(folder, 'getsubids') };
  await writeFile(sources.passwd, users);
  await rm(sources.getsubids, { force: true });
  if (script !== undefined) await writeFile(sources.getsubids, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const config = { pods: { root: '', logs: '', max: 110 } as never, userNamespaces: { idsPerPod } };
  return idPool(config, sources);
}

const KUBELET = 'root:x:0:0::/root:/bin/sh\nkubelet:x:900:900::/:/sbin/nologin\n';
const WHOLE = { first: 65_536, count: 65_534 * 65_536, idsPerPod: 65_536 };

test.each([
  ['nobody is kubelet', 'root:x:0:0::/root:/bin/sh\nnotkubelet:x:1:1::/:\n', 'exit 9', WHOLE],
  ['there is no getsubids', KUBELET, undefined, WHOLE],
  [
    'kubelet has a range',
    KUBELET,
    'test "${1#-g}" && test "$1" = kubelet -a $# = 1 || test "$1 $2" = "-g kubelet"; echo "0: kubelet 131072 13107200"',
    { first: 131_072, count: 13_107_200, idsPerPod: 65_536 },
  ],
])('%s', async (_, users, script, pool) => {
  expect(await poolOf(users, script)).toEqual(pool);
});

test.each([
  ['getsubids fails', 'echo no answer >&2; exit 1', /ids of user kubelet cannot be read: .*no answer/s],
  ['it lists nothing', 'true', /user kubelet must have exactly one range/],
  [
    'two ranges',
    'echo "0: kubelet 65536 7208960"; echo "1: kubelet 131072 65536"',
    /user kubelet must have exactly one range/,
  ],
  ['other group ids than user ids', 'echo "0: kubelet $# 7208960"', /user kubelet must have exactly one range/],
  [
    'too few',
    'echo "0: kubelet 65536 65536"',
    /^the subordinate ids of user kubelet: 65536 ids are not enough for 110/,
  ],
])('refused: %s', async (_, script, message) => {
  await expect(poolOf(KUBELET, script)).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringMatching(message),
  });
});

test('too many ids for each pod', async () => {
  await expect(poolOf('', undefined, 2 ** 30)).rejects.toMatchObject({
    message: 'userNamespaces.idsPerPod: 2147483648 ids are not enough for 110 pods with 1073741824 ids each',
  });
});
