import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningCommand, someOf, testSeed } from '@kubus/harness';
import { type MachineSnapshot, diffSnapshots } from '@kubus/launcher';
import { Random } from '@kubus/ports';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { UserNode } from '../src/user-node.ts';

const seed = testSeed('up-failed');

let node: UserNode;
let folder: string;
let before: MachineSnapshot;

beforeAll(async () => {
  node = await UserNode.prepare();
  folder = await mkdtemp(join(tmpdir(), 'kubus-up-failed-'));
  before = await node.snapshot();
});
afterAll(async () => {
  await node.remove();
  await rm(folder, { recursive: true });
});

/** Expects that nothing of the node is on the machine. */
async function expectNothing(): Promise<void> {
  expect(diffSnapshots(before, await node.snapshot())).toEqual([]);
  expect([existsSync(node.dir.root), existsSync(node.dir.run)]).toEqual([false, false]);
}

test('a kubeconfig that cannot be used is reported before anything is created', async () => {
  const kubeconfig = join(folder, 'kubeconfig');
  const user = { name: 'u', user: { 'client-key': 'missing.key' } };
  const given = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [user],
  };
  for (const [document, message] of [
    ['nonsense', 'expected object'],
    [JSON.stringify({ ...given, 'current-context': 'other' }), 'current-context "other" does not exist'],
    [JSON.stringify(given), 'client-key: ENOENT'],
  ] as const) {
    await writeFile(kubeconfig, document);
    const { code, stdout, stderr } = await node.up('--kubeconfig', kubeconfig).outcome;
    // A checkout that has to be built says so before.
    expect([code, stdout, stderr.trimEnd().split('\n').at(-1)]).toEqual([1, '', expect.stringContaining(message)]);
    await expectNothing();
  }
});

test('a full disk: nothing is left, and the logs are kept', async () => {
  const disk = dirname(node.dir.root);
  await mkdir(disk, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'kubus-up-failed', disk]);
  try {
    const { code, stderr } = await node.up().outcome;
    expect(code).toBe(1);
    expect(stderr).toMatch(/nothing of node \S+ is left; its logs are in \S+\n$/);
    const [, logs = ''] = /its logs are in (\S+)/.exec(stderr) ?? [];
    expect(existsSync(join(logs, 'launcher.log'))).toBe(true);
    await rm(logs, { recursive: true });
  } finally {
    execFileSync('umount', [disk]);
    await rm(disk, { recursive: true, force: true });
  }
  await expectNothing();
});

/** Ctrl-C as a terminal sends it, or SIGTERM to the command alone; sometimes twice. */
async function interrupt(up: RunningCommand, random: Random): Promise<void> {
  const pid = up.child.pid ?? 0;
  await wait(random.below(300));
  const [target, signal] = random.below(2) === 0 ? ([-pid, 'SIGINT'] as const) : ([pid, 'SIGTERM'] as const);
  process.kill(target, signal);
  if (random.below(2) === 0) {
    await wait(random.below(50));
    up.child.kill(signal);
  }
}

const moments = [
  'building images',
  'starting NATS',
  'compiling native programs',
  'starting containerd',
  'importing images',
  'starting the services',
  'NAMESPACE',
];

test.each(someOf(moments, 2, seed))('interrupted at "%s": nothing is left, or the node runs', async (moment) => {
  const random = new Random(seed);
  const up = node.upInSession();
  try {
    await up.waitForOutput(new RegExp(moment));
    await interrupt(up, random);
    const { code, stderr, stdout } = await up.outcome;
    // A signal that arrives when everything is done and the process ends itself is how it ends (-1).
    if (stdout.includes('Next steps:')) expect([0, -1]).toContain(code);
    else {
      expect([1, -1]).toContain(code);
      expect(stderr).toMatch(
        /^kubus: interrupted(; node \S+ keeps running: .*| *\nkubus: nothing of node \S+ is left)?$/m,
      );
    }
    if (/keeps running/.test(stderr) || stdout.includes('Next steps:')) {
      const { items: listed } = JSON.parse((await node.kubus('ls', '-o', 'json')).stdout) as {
        items: { state: string }[];
      };
      expect(listed).toMatchObject([{ state: 'Running' }]);
      await node.runningContainers();
      expect((await node.kubus('down')).code).toBe(0);
    }
    await expectNothing();
  } finally {
    await up.end('SIGKILL');
  }
});
