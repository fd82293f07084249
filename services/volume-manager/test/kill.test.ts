// The manager is killed at every step; after another start all is as if it had not been.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ManagerSetup } from './manager-process.ts';
import type { Volumes } from './scripted-node.ts';
import { everything, makeRoot, removeRoot } from './test-root.ts';

const run = promisify(execFile);
const volumes: Volumes = [
  { name: 'disk', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
];

let dir: string;
beforeEach(() => {
  dir = makeRoot();
  for (const name of ['node', 'records']) mkdirSync(join(dir, name));
});
afterEach(() => removeRoot(dir));

/** What one life of the manager tells of the pod; `SIGKILL` for one that was killed. */
async function live(goal: ManagerSetup['goal'], killAt?: string): Promise<unknown> {
  const setup: ManagerSetup = {
    root: join(dir, 'node'),
    records: join(dir, 'records'),
    volumes,
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
const made = [
  '777 0 pods/a/volumes/kubernetes.io~empty-dir/disk',
  '777 0 pods/a/volumes/kubernetes.io~empty-dir/memory tmpfs',
];

test.each([
  'before put',
  'after put',
  'before make folder',
  'after make folder',
  'before make mount',
  'after make mount',
])('killed %s, all volumes are there after the next start', async (place) => {
  expect(await live('make', place)).toBe('SIGKILL');
  expect(await live('make')).toMatchObject({ ready: true, volumes: { disk: {}, memory: {} } });
  expect((await everything(join(dir, 'node'))).slice(-2)).toEqual(made);
  expect(records()).toEqual(['a.json']);
});

test.each(
  (['remove', 'forget'] as const).flatMap((goal) =>
    ['before remove', 'after remove', 'before delete', 'after delete'].map((place) => [place, goal] as const),
  ),
)('killed %s when the goal is to %s, nothing is left after the next start', async (place, goal) => {
  await live('make');
  expect(await live(goal, place)).toBe('SIGKILL');
  expect(await live(goal)).toBeNull();
  expect(await everything(join(dir, 'node'))).toEqual(['750 0 pods']);
  expect(records()).toEqual([]);
});

test.each(['before put', 'after put', 'after make folder', 'after make mount'])(
  'killed %s, nothing is left when the pod is not wanted any more',
  async (place) => {
    expect(await live('make', place)).toBe('SIGKILL');
    expect(await live('forget')).toBeNull();
    expect((await everything(join(dir, 'node'))).slice(1)).toEqual([]);
    expect(records()).toEqual([]);
  },
);
