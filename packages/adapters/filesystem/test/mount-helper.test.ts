import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  MountError,
  bindMount,
  listMounts,
  makeReadOnly,
  makeShared,
  mount,
  mountsBelow,
  unmount,
  useMountHelper,
} from '../src/index.ts';

const source = fileURLToPath(new URL('../native/mount-helper.c', import.meta.url));
const { PATH } = process.env;
let dir: string;

const programs = mkdtempSync(join(tmpdir(), 'kubus-mount-helper-'));

beforeAll(() => {
  const program = join(programs, 'mount-helper');
  execFileSync('cc', ['-std=c11', '-O2', '-Wall', '-Wextra', '-Werror', '-static', source, '-o', program]);
  useMountHelper(program);
});
afterAll(() => rmSync(programs, { recursive: true }));
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-mount-')));
});
afterEach(async () => {
  process.env['PATH'] = PATH;
  for (const { target } of await mountsBelow(dir)) await unmount(target);
  rmSync(dir, { recursive: true });
});

/** From now on no program can be started. */
function withoutPrograms(): void {
  process.env['PATH'] = '/nowhere';
}

function folder(name: string): string {
  const path = join(dir, name);
  mkdirSync(path, { recursive: true });
  return path;
}

/** The process ID of the helper. */
function helperPid(): number {
  const [child] = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid !== '' && readlinkSync(`/proc/${pid}/exe`).endsWith('/mount-helper'));
  return Number(child);
}

const tmpfs = (target: string, options: string[] = []) => mount({ type: 'tmpfs', source: 'tmpfs', target, options });
const optionsOf = async (target: string) => (await listMounts()).find((one) => one.target === target);

test('the usual mounts are made and removed without a program', async () => {
  withoutPrograms();
  const [memory, bound, shown] = [folder('memory'), folder('bound'), join(dir, 'shown')];
  await tmpfs(memory, ['size=1048576', 'mode=2777', 'gid=1234', 'nosuid']);
  expect(statSync(memory)).toMatchObject({ mode: 0o042777, gid: 1234 });
  expect(() => writeFileSync(join(memory, 'big'), Buffer.alloc(2 ** 20 + 1))).toThrow('ENOSPC');
  rmSync(join(memory, 'big'));
  writeFileSync(join(memory, 'file'), 'seen');
  await mount({ type: 'none', source: memory, target: bound, options: ['bind'] });
  writeFileSync(shown, '');
  await bindMount(join(memory, 'file'), shown);
  expect(readFileSync(shown, 'utf8')).toBe('seen');
  await makeReadOnly(bound);
  expect(() => writeFileSync(join(bound, 'file'), '')).toThrow('EROFS');
  expect(readFileSync('/proc/self/mountinfo', 'utf8')).toMatch(new RegExp(` ${bound} ro,nosuid,`));
  expect(await optionsOf(memory)).toMatchObject({ readOnly: false });
  for (const target of [shown, bound, memory]) await unmount(target);
  expect(await mountsBelow(dir)).toEqual([]);
});

test('a folder is shared without a program', async () => {
  withoutPrograms();
  await tmpfs(folder('outer'));
  process.env['PATH'] = PATH;
  execFileSync('mount', ['--make-private', join(dir, 'outer')]);
  withoutPrograms();
  await makeShared(folder('outer/inner'));
  expect((await mountsBelow(dir)).map(({ target, shared }) => [target.slice(dir.length), shared])).toEqual([
    ['/outer/inner', true],
    ['/outer', false],
  ]);
});

test('many at once all end', async () => {
  const targets = Array.from({ length: 100 }, (_, index) => folder(`many/${index}`));
  await Promise.all(targets.map((target) => tmpfs(target)));
  expect(await mountsBelow(dir)).toHaveLength(100);
  await Promise.all(targets.map((target) => unmount(target)));
  expect(readdirSync(join(dir, 'many'))).toHaveLength(100);
});

test('what fails is said in the words of the program', async () => {
  const missing = join(dir, 'missing');
  await expect(tmpfs(missing)).rejects.toThrow(MountError);
  await expect(tmpfs(missing)).rejects.toThrow(`mount: ${missing}: mount point does not exist`);
  await expect(unmount(folder('a'))).rejects.toThrow('not mounted');
  await tmpfs(folder('busy'));
  process.chdir(join(dir, 'busy'));
  try {
    await expect(unmount(join(dir, 'busy'))).rejects.toThrow('target is busy');
  } finally {
    process.chdir('/');
  }
});

test('a helper that does not answer is not awaited beyond the limit, and one that has ended is started again', async () => {
  const target = folder('a');
  await tmpfs(target);
  const helper = helperPid();
  process.kill(helper, 'SIGSTOP');
  const error = { code: 'timed-out', message: `umount of ${target} has not ended after 0.1 s` };
  await expect(unmount(target, { limitMs: 100 })).rejects.toMatchObject(error);
  process.kill(helper, 'SIGKILL');
  const ended = unmount(target);
  await ended.catch((failure: unknown) => expect(failure).toMatchObject({ code: 'mount' }));
  if ((await mountsBelow(dir)).length > 0) await unmount(target);
  expect(await mountsBelow(dir)).toEqual([]);
  await tmpfs(target);
  expect(helperPid()).not.toBe(helper);
});
