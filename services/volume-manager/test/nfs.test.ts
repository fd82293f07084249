// NFS volumes, with the real mount(8) and a stand-in for its helper, see nfs-process.ts.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type NfsVolume, type VolumeStep, planNfs } from '@kubus/volume';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Interface, createInterface } from 'node:readline';
import type { NfsAnswer, NfsRequest } from './nfs-process.ts';
import { podWith } from './scripted-node.ts';
import { makeRoot, removeRoot, untilIn } from './test-root.ts';

/** As mount(8) calls it: source, target, options. The name of the server decides the outcome. */
const HELPER = `#!/bin/sh
echo "$*" >> "$KUBUS_TEST/calls"
case $1 in
  hangs:*) echo $$ > "$KUBUS_TEST/hanging"; sleep 1000 & wait ;;
  denies:*) echo "mount.nfs: access denied by server while mounting $1" >&2; exit 32 ;;
esac
shift 1
exec mount -i -t tmpfs -o size=64k tmpfs "$1"
`;
/** The file "stuck" in the test's folder names the kinds of unmount that the server does not answer. */
const UMOUNT = `#!/bin/sh
case $* in *--force*) way=force ;; *--lazy*) way=lazy ;; *) way=plain ;; esac
echo "umount $way" >> "$KUBUS_TEST/calls"
if grep -qs $way "$KUBUS_TEST/stuck"; then sleep 1000 & wait; fi
exec "$KUBUS_TEST/umount" "$@"
`;

/** The time limit of each operation. */
const LIMIT_MS = 1_000;

let dir: string;
let child: ChildProcess;
let lines: AsyncIterator<string>;
let reader: Interface;

beforeEach(() => {
  dir = makeRoot();
  for (const name of ['node', 'sbin', 'bin']) mkdirSync(join(dir, name));
  writeFileSync(join(dir, 'sbin/mount.nfs'), HELPER, { mode: 0o755 });
  writeFileSync(join(dir, 'stand-in'), UMOUNT, { mode: 0o755 });
  const script = [
    'cp /bin/umount "$KUBUS_TEST/umount"',
    'mount --bind "$KUBUS_TEST/stand-in" "$(readlink -f /bin/umount)"',
    'mount -t overlay -o lowerdir="$KUBUS_TEST/sbin:$(readlink -f /sbin)" overlay "$(readlink -f /sbin)"',
    'exec "$@"',
  ].join(' && ');
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'nfs-process.ts')];
  const args = [
    '--mount',
    '--propagation',
    'private',
    'sh',
    '-c',
    script,
    'sh',
    ...node,
    join(dir, 'node'),
    `${LIMIT_MS}`,
  ];
  const env = { ...process.env, KUBUS_TEST: dir };
  child = spawn('unshare', args, { stdio: ['pipe', 'pipe', 'inherit'], env });
  if (child.stdout === null) throw new Error('no output');
  reader = createInterface(child.stdout);
  lines = reader[Symbol.asyncIterator]();
});
afterEach(async () => {
  // Its mounts end with it.
  const ended = once(child, 'exit');
  child.stdin?.end();
  await ended;
  reader.close();
  await removeRoot(dir);
});

const send = (request: NfsRequest) => child.stdin?.write(`${JSON.stringify(request)}\n`);

async function ask(request: NfsRequest): Promise<NfsAnswer> {
  send(request);
  const next = await lines.next();
  if (next.done === true) throw new Error('the process has ended');
  return JSON.parse(next.value) as NfsAnswer;
}

function stepOf(uid: string, server: string, rest: Partial<NfsVolume> = {}): VolumeStep {
  const volume = { name: 'v', specName: 'pv', server, path: '/share', readOnly: false, mountOptions: [], ...rest };
  const plan = planNfs(podWith(uid, []), volume, { root: join(dir, 'node') });
  if (!('step' in plan)) throw new Error('no step');
  return plan.step;
}
const linesOf = (file: string) =>
  existsSync(join(dir, file)) ? readFileSync(join(dir, file), 'utf8').split('\n').slice(0, -1) : [];
const calls = () => linesOf('calls');
const inPod = (uid: string) => join(dir, 'node/pods', uid, 'volumes/kubernetes.io~nfs/pv');
const nothingLeft = { result: ['750 0 pods'] };

test('a share is mounted once with its options, and unmounted', async () => {
  const step = stepOf('a', 'fd00::1', { readOnly: true, mountOptions: ['nfsvers=4.2', 'hard'] });
  for (let time = 0; time < 2; time += 1)
    expect(await ask({ make: step })).toMatchObject({ result: { hostPath: inPod('a'), readOnly: true } });
  expect(calls()).toEqual([expect.stringMatching(/^\[fd00::1\]:\/share \S+ -o ro,.*nfsvers=4.2,hard/)]);
  const { result } = await ask({ list: true });
  expect(result).toContainEqual(expect.stringContaining('pods/a/volumes/kubernetes.io~nfs/pv tmpfs'));
  expect(await ask({ remove: 'a' })).toEqual({ logged: [] });
  expect(await ask({ list: true })).toMatchObject(nothingLeft);
});

test('the server’s error is reported, and the mount can be retried', async () => {
  const said = 'mount.nfs: access denied by server while mounting denies:/share';
  expect(await ask({ make: stepOf('a', 'denies') })).toMatchObject({ error: said });
  expect(await ask({ make: stepOf('a', 'answers') })).toMatchObject({ result: { hostPath: inPod('a') } });
  await ask({ remove: 'a' });
  expect(await ask({ list: true })).toMatchObject(nothingLeft);
});

test('a mount from a server that does not answer times out, with everything that waits for it', async () => {
  const answer = ask({ make: stepOf('a', 'hangs') });
  await untilIn(dir, () => linesOf('hanging').length === 1);
  const helper = Number(linesOf('hanging')[0]);
  send({ pass: LIMIT_MS });
  expect((await answer).error).toBe(`mount of ${inPod('a')} has not ended after 1 s`);
  while (existsSync(`/proc/${helper}`)) await new Promise(setImmediate);
  expect(await ask({ remove: 'a' })).toEqual({ logged: [] });
  expect(await ask({ list: true })).toMatchObject(nothingLeft);
});

const HUNG = 'unmount hung; forcing';
test.each([
  [['plain'], ['plain', 'force'], [HUNG]],
  [
    ['plain', 'force'],
    ['plain', 'force', 'lazy'],
    [HUNG, 'forced unmount failed', 'mount still hangs; detaching it until its last user ends'],
  ],
])('a share whose server does not answer %p is removed with %p', async (stuck, ways, logged) => {
  await ask({ make: stepOf('a', 'answers') });
  writeFileSync(join(dir, 'stuck'), stuck.join('\n'));
  const answer = ask({ remove: 'a' });
  for (const way of stuck) {
    await untilIn(dir, () => calls().includes(`umount ${way}`));
    send({ pass: LIMIT_MS });
  }
  expect(await answer).toEqual({ logged });
  expect(calls().slice(1)).toEqual(ways.map((way) => `umount ${way}`));
  expect(await ask({ list: true })).toMatchObject(nothingLeft);
});
