// The manager is killed between all changes that it makes for the volumes of a CSI driver, and before and after each
// call of the driver; after the next start the result is the same as without the crash.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mountsBelow } from '@kubus/filesystem';
import { TestCsiDriver } from '@kubus/harness';
import { csiDevicePlace, csiPodPath, csiStagingPlace } from '@kubus/volume';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DRIVER, leftOver } from './csi-node.ts';
import type { CsiKind, CsiPod, CsiSetup } from './csi-process.ts';
import { everything, makeRoot, removeRoot } from './test-root.ts';

let dir: string;
let driver: TestCsiDriver;
let running: ChildProcess | undefined;
beforeEach(async () => {
  dir = makeRoot();
  for (const name of ['node', 'records']) mkdirSync(join(dir, name));
  const registry = join(dir, 'node/plugins_registry');
  driver = await TestCsiDriver.start({ name: DRIVER, folder: join(dir, 'driver'), registry });
});
afterEach(async () => {
  running?.kill('SIGKILL');
  await driver.kill();
  await removeRoot(dir, () => driver.remove());
});

/** Runs the manager until it is done or killed. Returns the pods for which it was halted. */
async function live(goal: CsiSetup['goal'], pods: readonly CsiPod[], killed = false): Promise<string[]> {
  const setup: CsiSetup = { dir, records: join(dir, 'records'), goal, pods, killed };
  const program = join(import.meta.dirname, 'csi-process.ts');
  running = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, JSON.stringify(setup)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(running, 'exit');
  const said = running.stdout === null ? '' : await text(running.stdout);
  expect(await ended).toEqual(killed ? [null, 'SIGKILL'] : [0, null]);
  return JSON.parse(said) as string[];
}

type Changes = Readonly<Record<CsiKind, number>>;
/** More than are made for a volume, which the test checks; the second for volumes that are made and removed. */
const MAKING: Changes = { files: 16, device: 18, inline: 9 };
const BOTH: Changes = { files: 21, device: 27, inline: 15 };

function podsOf(set: string, changes: Changes): CsiPod[] {
  const kinds = Object.entries(changes) as [CsiKind, number][];
  return kinds.flatMap(([kind, most]) =>
    Array.from({ length: most }, (_, changes) => ({ uid: `${set}-${kind}-${changes}.`, kind, changes })),
  );
}

/**
 * The last pod of each kind was completed, and the first of each was not: every change was the last one for some pod.
 */
function expectEveryPlace(pods: readonly CsiPod[], halted: readonly string[]): void {
  for (const kind of Object.keys(BOTH)) {
    const isReached = pods.filter((pod) => pod.kind === kind).map(({ uid }) => halted.includes(uid));
    expect([kind, isReached[0], isReached.at(-1)]).toEqual([kind, true, false]);
  }
}

const handle = ({ uid }: CsiPod) => `handle-${uid}`;
const nameOf = (pod: CsiPod) => ({
  driver: DRIVER,
  volumeHandle: handle(pod),
  specName: `pv-${pod.uid}`,
  block: false,
});

/** The mounts that a pod has to have. */
function mountsOf(pod: CsiPod): string[] {
  const root = join(dir, 'node');
  const { uid, kind } = pod;
  if (kind === 'inline') return [csiPodPath(root, uid, { ...nameOf(pod), specName: uid })];
  if (kind === 'device') {
    const { published, held } = csiDevicePlace(root, uid, nameOf(pod).specName);
    return [published, held];
  }
  return [csiStagingPlace(root, nameOf(pod)).staging, csiPodPath(root, uid, nameOf(pod))];
}

/** The state of a pod's volumes, without the pod's own names. */
function ownOf(pod: CsiPod, lines: readonly string[]): string[] {
  const hash = createHash('sha256').update(handle(pod)).digest('hex');
  const own = lines.filter((line) => line.includes(pod.uid) || line.includes(hash));
  return own.map((line) => line.replaceAll(pod.uid, 'UID').replaceAll(hash, 'HASH')).sort();
}

test('killed at any point, the manager restores exactly the desired volumes after a restart', async () => {
  const [wanted, others] = [podsOf('wanted', BOTH), podsOf('other', MAKING)];
  const all = [...wanted, ...others];
  expectEveryPlace(wanted, await live('make', all, true));

  expect(await live('make', wanted)).toEqual([]);
  const root = join(dir, 'node');
  const lines = await everything(root);
  expect((await mountsBelow(root)).map(({ target }) => target).sort()).toEqual(wanted.flatMap(mountsOf).sort());
  for (const pod of wanted) {
    const last = wanted.findLast(({ kind }) => kind === pod.kind);
    expect([pod.uid, ownOf(pod, lines)]).toEqual([pod.uid, last && ownOf(last, lines)]);
  }
  for (const pod of others) expect(ownOf(pod, lines)).toEqual([]);
  const { staged, published, devices } = await driver.books();
  const known = [staged, published, devices].flatMap((book) => Object.entries(book).map((entry) => entry.join(' ')));
  expect(known.filter((entry) => entry.includes('other-'))).toEqual([]);
  expect(readdirSync(join(dir, 'records'))).toHaveLength(wanted.length);

  expectEveryPlace(wanted, await live('remove', wanted, true));
  expect(await live('remove', [])).toEqual([]);
  expect(await leftOver(root)).toEqual([]);
  expect(await driver.books()).toMatchObject({ staged: {}, published: {}, devices: {} });
  expect(readdirSync(join(dir, 'records'))).toEqual([]);
});
