// The manager is killed at its steps; after a restart the result is the same as without the crash.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { someOf, testSeed } from '@kubus/harness';
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ManagerSetup } from './manager-process.ts';
import type { Volumes } from './scripted-node.ts';
import { boundClaim } from './bound-claim.ts';
import { everything, makeDevice, makeRoot, removeDevice, removeRoot } from './test-root.ts';

/** The quick form kills at some of the steps, chosen by the seed. */
const seed = testSeed('volume-kill');
const run = promisify(execFile);
const volumes: Volumes = [
  { name: 'disk', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
  { name: 'folder', persistentVolumeClaim: { claimName: 'folder' } },
  { name: 'device', persistentVolumeClaim: { claimName: 'device' } },
];

let dir: string;
let device: string;
beforeEach(() => {
  dir = makeRoot();
  for (const name of ['node', 'records', 'shared']) mkdirSync(join(dir, name));
  device = makeDevice(dir);
});
afterEach(async () => {
  try {
    await removeRoot(dir);
  } finally {
    removeDevice(device);
  }
});

/** What one process of the manager reports about the pod; `SIGKILL` for one that was killed. */
async function live(goal: ManagerSetup['goal'], killAt?: string): Promise<unknown> {
  const setup: ManagerSetup = {
    root: join(dir, 'node'),
    records: join(dir, 'records'),
    volumes,
    claims: [
      boundClaim('folder', { kind: 'local', path: join(dir, 'shared') }),
      boundClaim('device', { kind: 'local', path: device }),
    ],
    goal,
    ...(killAt !== undefined && { killAt }),
  };
  const program = join(import.meta.dirname, 'manager-process.ts');
  try {
    const { stdout } = await run(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      program,
      JSON.stringify(setup),
    ]);
    return JSON.parse(stdout);
  } catch (error) {
    const { signal } = error as { signal?: string };
    if (signal !== 'SIGKILL') throw error;
    return signal;
  }
}

const records = () => readdirSync(join(dir, 'records'));
/** The folders that remain when a pod's volumes are removed, for those of the next one. */
const plugins = ['', '/kubernetes.io', '/kubernetes.io/local-volume', '/kubernetes.io/local-volume/mounts'];
const empty = [...plugins.map((path) => `750 0 plugins${path}`), '750 0 pods'];
/** The existing volumes of the pod. */
const there = async () => (await everything(join(dir, 'node'))).filter((line) => !/^750|lost\+found/.test(line));
const made = [
  '755 0 plugins/kubernetes.io/local-volume/mounts/pv-device ext4',
  '777 0 pods/a/volumes/kubernetes.io~empty-dir/disk',
  '1777 0 pods/a/volumes/kubernetes.io~empty-dir/memory tmpfs',
  '755 0 pods/a/volumes/kubernetes.io~local-volume/pv-device ext4',
  '755 0 pods/a/volumes/kubernetes.io~local-volume/pv-folder ext4',
];

test.each(
  someOf(
    [
      ...['before put', 'after put', 'before make folder', 'after make folder'],
      ...['before make memory', 'after make memory', 'before make local', 'after make local'],
    ],
    4,
    seed,
  ),
)('killed %s, all volumes exist after the next start', async (place) => {
  expect(await live('make', place)).toBe('SIGKILL');
  expect(await live('make')).toMatchObject({ ready: true, volumes: { disk: {}, memory: {}, folder: {}, device: {} } });
  expect(await there()).toEqual(made);
  expect(records()).toEqual(['a.json']);
});

const ends = (['remove', 'forget'] as const).flatMap((goal) =>
  ['before remove', 'after remove', 'before delete', 'after delete'].map((place) => [place, goal] as const),
);

test.each(someOf(ends, 4, seed))(
  'killed %s with the goal to %s, nothing is left after the next start',
  async (place, goal) => {
    await live('make');
    expect(await live(goal, place)).toBe('SIGKILL');
    expect(await live(goal)).toBeNull();
    expect(await everything(join(dir, 'node'))).toEqual(empty);
    expect(records()).toEqual([]);
  },
);

test.each(someOf(['before put', 'after put', 'after make folder', 'after make memory', 'after make local'], 2, seed))(
  'killed %s, nothing is left when the pod is no longer desired',
  async (place) => {
    expect(await live('make', place)).toBe('SIGKILL');
    expect(await live('forget')).toBeNull();
    const left = (await everything(join(dir, 'node'))).filter((line) => !empty.includes(line));
    expect(left).toEqual([]);
    expect(records()).toEqual([]);
  },
);
