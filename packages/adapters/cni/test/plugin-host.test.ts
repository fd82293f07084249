// Plugins are shell scripts here, which cover every way in which a program can behave and misbehave.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { PluginCall, PluginOutput } from '@kubus/cni-config';
import { PluginHost, inNamespacesOf } from '../src/plugin-host.ts';
import type { ProgramRunner } from '../src/program.ts';
import { endStrays } from '../src/strays.ts';
import { afterTest, heldShim, temporaryFolder } from './support.ts';

let marks = 0;

/** A mark that is unique on the machine. */
function freshMark(): string {
  marks += 1;
  const mark = `test-${process.pid}-${performance.timeOrigin}-${marks}`;
  afterTest(() => endStrays(mark));
  return mark;
}

interface Plugin {
  readonly folder: string;
  readonly mark: string;
  readonly run: (call?: Partial<PluginCall>) => Promise<PluginOutput>;
}

type Way = () => Promise<ProgramRunner | undefined>;

/** Who runs a plugin: this process, or the shim of a call. */
const ways: [string, Way][] = [
  ['of this process', () => Promise.resolve(undefined)],
  ['of a shim', async () => (await heldShim()).programs],
];

/** A folder with one plugin, `it`, that runs `script`. */
async function plugin(script: string, way: Way): Promise<Plugin> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'it'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const mark = freshMark();
  const runner = new PluginHost({ folders: [folder], ownerMark: mark }).through(await way());
  return {
    folder,
    mark,
    run: (call) => runner.run({ type: 'it', env: { CNI_COMMAND: 'ADD' }, stdin: '', timeoutMs: 30_000, ...call }),
  };
}

/** Whether a process still executes; a zombie does not. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe.each(ways)('a plugin, child %s,', (_, way) => {
  test('gets its input and environment, and nothing of the bridge’s environment', async () => {
    const { folder, mark, run } = await plugin('cat; env >&2; exit 3', way);
    const env = { CNI_COMMAND: 'DEL', CNI_CONTAINERID: 'c1', TRACEPARENT: 't' };
    const { exitCode, stdout, stderr } = await run({ stdin: '{"name":"pods"}', env });
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '{"name":"pods"}' });
    const shellsOwn = /^(PWD|_|SHLVL|OLDPWD)=/;
    expect(
      stderr
        .trim()
        .split('\n')
        .filter((line) => !shellsOwn.test(line))
        .sort(),
    ).toEqual([
      'CNI_COMMAND=DEL',
      'CNI_CONTAINERID=c1',
      `CNI_PATH=${folder}`,
      `KUBUS_OWNER=${mark}/1`,
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      'TRACEPARENT=t',
    ]);
  });

  test('may leave its input unread', async () => {
    const { run } = await plugin('exec 0<&-; echo done', way);
    expect(await run({ stdin: 'x'.repeat(1_000_000) })).toEqual({ exitCode: 0, stdout: 'done\n', stderr: '' });
  });

  test('is the first one with its name in the folders', async () => {
    const [first, second] = [temporaryFolder(), temporaryFolder()];
    mkdirSync(join(first, 'a'));
    writeFileSync(join(first, 'b'), '#!/bin/sh\necho not executable', { mode: 0o644 });
    for (const name of ['a', 'b', 'c']) {
      writeFileSync(join(second, name), `#!/bin/sh\necho second`, { mode: 0o755 });
    }
    writeFileSync(join(first, 'c'), '#!/bin/sh\necho first', { mode: 0o755 });
    const runner = new PluginHost({ folders: [first, second], ownerMark: freshMark() });
    const said = await Promise.all(
      ['a', 'b', 'c'].map((type) => runner.run({ type, env: {}, stdin: '', timeoutMs: 30_000 })),
    );
    expect(said.map(({ stdout }) => stdout)).toEqual(['second\n', 'second\n', 'first\n']);
  });

  test('can be on the machine only: it is found and run in the namespaces of another process', async () => {
    const folder = temporaryFolder();
    // Only that process sees content in the folder; it also has a network of its own.
    const setUp = [
      `mount -t tmpfs tmpfs ${folder}`,
      `printf '#!/bin/sh\nreadlink /proc/self/ns/net; ls ${folder}' >${folder}/it`,
      `chmod +x ${folder}/it`,
      'readlink /proc/self/ns/net',
      'exec cat',
    ].join(' && ');
    const machine = spawn('unshare', ['--mount', '--net', '--', 'sh', '-c', setUp]);
    const exited = once(machine, 'exit');
    afterTest(async () => {
      machine.kill();
      await exited;
    });
    const [network] = (await once(machine.stdout, 'data')) as [Buffer];
    const call = { type: 'it', env: {}, stdin: '', timeoutMs: 10_000 };
    const options = { folders: [folder], ownerMark: freshMark() };
    await expect(new PluginHost(options).run(call)).rejects.toMatchObject({ code: expect.anything() });
    const there = new PluginHost({ ...options, ...inNamespacesOf(machine.pid ?? 0) });
    expect(await there.run(call)).toMatchObject({ exitCode: 0, stdout: `${network.toString()}it\n` });
  });

  test('can be run with a command prefix, and is found under the host’s root', async () => {
    const root = temporaryFolder();
    mkdirSync(join(root, 'opt'));
    writeFileSync(join(root, 'opt/it'), '', { mode: 0o755 });
    const runner = new PluginHost({
      folders: ['/opt'],
      ownerMark: freshMark(),
      prefix: ['/bin/echo', 'prefix'],
      lookupRoot: root,
    });
    expect(await runner.run({ type: 'it', env: {}, stdin: '', timeoutMs: 30_000 })).toMatchObject({
      stdout: 'prefix /opt/it\n',
    });
  });

  test('has its standard error kept up to a limit', async () => {
    const { run } = await plugin('head -c 3000000 /dev/zero | tr "\\0" e >&2; echo done', way);
    const { stdout, stderr } = await run();
    expect(stdout).toBe('done\n');
    expect(stderr).toBe('e'.repeat(16 * 1024));
  });
});

describe.each(ways)('a plugin, child %s, that cannot be run', (_, way) => {
  test('does not exist', async () => {
    const { folder, run } = await plugin('', way);
    await expect(run({ type: 'other' })).rejects.toMatchObject({
      cniCode: 5,
      message: `failed to find plugin "other" in path [${folder}]`,
    });
  });

  test('needs an interpreter that does not exist', async () => {
    const { folder, run } = await plugin('', way);
    writeFileSync(join(folder, 'bad'), '#!/nowhere/interpreter\n', { mode: 0o755 });
    await expect(run({ type: 'bad' })).rejects.toMatchObject({
      cniCode: 5,
      message: expect.stringMatching(/\/bad could not be started: .*(ENOENT|No such file)/),
    });
  });

  test('gets an environment that the kernel refuses', async () => {
    const { run } = await plugin('', way);
    await expect(run({ env: { CNI_ARGS: 'x'.repeat(5_000_000) } })).rejects.toMatchObject({
      cniCode: 5,
      message: expect.stringMatching(/ could not be started: .*(E2BIG|larger than)/),
    });
  });
});

describe.each(ways)('a plugin, child %s, that fails', (_, way) => {
  /** Starts `child` in the background, waits until it has reported its PID, and then ends it. */
  const withChild = (child: string, notes: string) =>
    `${child.replace('STAY', `'echo $$ > ${notes}; exec sleep 1000'`)} & while [ ! -s ${notes} ]; do :; done; yes`;

  test.each([
    ['hangs', 'echo why >&2; exec sleep 1000'],
    ['leaves a child that holds its output open', 'echo why >&2; sleep 1000 & exit 0'],
  ])('%s, and is killed at its time limit', async (_, script) => {
    const { mark, run } = await plugin(script, way);
    await expect(run({ timeoutMs: 500 })).rejects.toMatchObject({
      cniCode: 11,
      message: 'plugin it (ADD) did not end within 0.5 s',
    });
    expect(await endStrays(mark)).toBe(0);
  });

  test.each([
    ['in its process group', 'sh -c STAY'],
    ['in its process group, without the mark', 'env -i sh -c STAY'],
    ['in a session of its own', 'setsid sh -c STAY'],
  ])('is killed with its child %s', async (_, child) => {
    const notes = join(temporaryFolder(), 'pid');
    const { run } = await plugin(withChild(child, notes), way);
    await expect(run()).rejects.toMatchObject({ cniCode: 6 });
    await untilEnded(Number(readFileSync(notes, 'utf8')));
  });

  test('prints endlessly', async () => {
    const { run } = await plugin('yes', way);
    await expect(run()).rejects.toMatchObject({
      cniCode: 6,
      message: 'plugin it (ADD) printed more than 1048576 bytes',
    });
  });

  test('is killed by a signal', async () => {
    const { run } = await plugin('echo last words >&2; kill -SEGV $$', way);
    await expect(run()).rejects.toMatchObject({
      cniCode: 999,
      message: 'plugin it (ADD) was killed by SIGSEGV',
      details: 'last words',
    });
  });
});

describe('endStrays', () => {
  /** Starts a shell that reports that it is running, and then stays. */
  async function stray(mark: string | undefined, script: string): Promise<number> {
    const child = spawn('/bin/sh', ['-c', script], {
      env: { PATH: '/usr/bin:/bin', ...(mark !== undefined && { KUBUS_OWNER: mark }) },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    afterTest(() => child.kill('SIGKILL'));
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    return Number(said.toString());
  }
  const stay = 'echo $$; exec sleep 1000';

  test('kills only processes that carry the mark', async () => {
    const mark = freshMark();
    const ours = await Promise.all([
      stray(mark, stay),
      stray(`${mark}/7`, stay),
      stray(`${mark}/8`, `sh -c '${stay}'; :`),
    ]);
    const others = await Promise.all([stray(undefined, stay), stray(`${mark}x`, stay), stray(`${mark}x/1`, stay)]);
    expect(await endStrays(mark)).toBeGreaterThanOrEqual(ours.length);
    expect(ours.filter(isRunning)).toEqual([]);
    expect(others.filter(isRunning)).toEqual(others);
    expect(await endStrays(mark)).toBe(0);
    await endStrays(`${mark}x`);
  });

  test('kills children of a stray process that have dropped the mark', async () => {
    const mark = freshMark();
    const child = await stray(mark, `env -i /bin/sh -c '${stay}'; :`);
    await endStrays(mark);
    await untilEnded(child);
  });

  test('kills processes that start others meanwhile', async () => {
    const mark = freshMark();
    const file = join(temporaryFolder(), 'count');
    // One after the other: without a pause, a busy machine would have thousands of them before the first is killed.
    const start = `(echo x >> ${file}; sleep 0.01; exec sleep 1000) & sleep 0.01`;
    await stray(mark, `echo x > ${file}; echo $$; while :; do ${start}; done`);
    await endStrays(mark);
    expect(await endStrays(mark)).toBe(0);
    const count = readFileSync(file, 'utf8').length;
    expect(existsSync(file)).toBe(true);
    expect(readFileSync(file, 'utf8')).toHaveLength(count);
  });
});

/** Resolves when the process has ended. Its group got SIGKILL together with the one that was waited for. */
async function untilEnded(pid: number): Promise<void> {
  while (isRunning(pid)) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
