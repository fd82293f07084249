// Whatever happens to pods, the machine and the manager, in any order: in the end the volumes are the same as if
// nothing had happened, and nothing else is left.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import { mount, mountsBelow } from '@kubus/filesystem';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords } from '@kubus/ports/testing';
import fc from 'fast-check';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type VolumeHost, createVolumeHost } from '../src/index.ts';
import { boundClaim } from './bound-claim.ts';
import { ScriptedNode, type Volumes, podWith } from './scripted-node.ts';
import { everything, makeDevice, makeRoot, removeDevice, removeRoot } from './test-root.ts';

const UIDS = ['a', 'b', 'c'];
let dir: string;
let device: string;

beforeEach(() => {
  dir = makeRoot();
  mkdirSync(join(dir, 'shared'));
  writeFileSync(join(dir, 'shared/file'), 'kept');
  device = makeDevice(dir);
});
afterEach(async () => {
  try {
    await removeRoot(dir);
  } finally {
    removeDevice(device);
  }
});

/** The volumes of each kind that pods may have. */
const volumesOf = (): Volumes => [
  { name: 'disk', emptyDir: {} },
  { name: 'limited', emptyDir: { sizeLimit: '1Mi' } },
  { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
  { name: 'host', hostPath: { path: join(dir, 'made'), type: 'DirectoryOrCreate' } },
  { name: 'folder', persistentVolumeClaim: { claimName: 'folder' } },
  { name: 'device', persistentVolumeClaim: { claimName: 'device' } },
];

/** Turns of the event loop in which real files and programs proceed. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
}

type Fault = 'before' | 'after';

/** One manager with its node, and the test's model of the pods. */
class World {
  readonly root: string;
  readonly clock = new ManualClock();
  readonly node = new ScriptedNode(this.clock);
  readonly records = new MemoryRecords();
  /** How the next actions on the machine fail. */
  readonly faults: Fault[] = [];
  readonly wanted = new Set<string>();
  /** The volumes of each pod; they never change. */
  readonly #volumes: Readonly<Record<string, readonly string[]>>;
  readonly #worker = new Map<string, 'syncing' | 'terminating' | 'terminated'>();
  /** The files in volumes of pods that have not ended since. */
  readonly #files = new Map<string, string[]>();

  constructor(name: string, volumes: Readonly<Record<string, readonly string[]>>) {
    this.#volumes = volumes;
    this.root = join(dir, name);
    mkdirSync(this.root, { recursive: true });
    this.node.claim(boundClaim('folder', { kind: 'local', path: join(dir, 'shared') }));
    this.node.claim(boundClaim('device', { kind: 'local', path: device }));
  }

  start(): Promise<void> {
    const host = createVolumeHost({ root: this.root, clock: this.clock, logger: silentLogger });
    return this.node.start({ root: this.root, host: this.#faulty(host), records: this.records });
  }

  #faulty(host: VolumeHost): VolumeHost {
    const faulty = async <T>(action: () => Promise<T>): Promise<T> => {
      const fault = this.faults.shift();
      if (fault === 'before') throw new Error('fails before');
      const result = await action();
      if (fault === 'after') throw new Error('fails after');
      return result;
    };
    return {
      ...host,
      make: (step, report) => faulty(() => host.make(step, report)),
      remove: (uid) => faulty(() => host.remove(uid)),
    };
  }

  want(uid: string): void {
    if (this.#worker.has(uid)) return;
    this.wanted.add(uid);
    this.#worker.set(uid, 'syncing');
    this.node.want(this.#pod(uid));
    this.node.worker(uid, 'syncing');
  }

  #pod(uid: string): Pod {
    const volumes = volumesOf().filter(({ name }) => this.#volumes[uid]?.includes(name));
    return podWith(uid, volumes);
  }

  /** The next step of an ending pod. */
  end(uid: string): void {
    const state = this.#worker.get(uid);
    if (state === 'syncing') {
      this.wanted.delete(uid);
      this.#files.delete(uid);
      this.#worker.set(uid, 'terminating');
      this.node.want(this.#pod(uid), 'kill');
      this.node.worker(uid, 'terminating');
    } else if (state === 'terminating') {
      this.#worker.set(uid, 'terminated');
      this.node.worker(uid, 'terminated');
    } else if (state === 'terminated' && this.node.published(uid) === undefined) this.lose(uid);
  }

  /** The pod is suddenly no longer published. */
  lose(uid: string): void {
    this.wanted.delete(uid);
    this.#files.delete(uid);
    this.#worker.delete(uid);
    this.node.unwant(uid);
    this.node.worker(uid, undefined);
  }

  /** The pod writes into its volumes. */
  write(uid: string): void {
    const { volumes = {}, ready } = this.node.published(uid) ?? {};
    if (ready !== true || this.#worker.get(uid) !== 'syncing') return;
    for (const name of ['disk', 'memory']) {
      const { hostPath } = volumes[name] ?? {};
      if (hostPath === undefined) continue;
      writeFileSync(join(hostPath, 'written'), uid);
      this.#files.set(uid, [...(this.#files.get(uid) ?? []), join(hostPath, 'written')]);
    }
  }

  /** Another program mounts something into a volume. */
  async intrude(uid: string): Promise<void> {
    const { hostPath } = this.node.published(uid)?.volumes['disk'] ?? {};
    const state = this.#worker.get(uid);
    if (hostPath === undefined || (state !== 'syncing' && state !== 'terminating')) return;
    mkdirSync(join(hostPath, 'inside'), { recursive: true });
    await mount({ type: 'none', source: join(dir, 'shared'), target: join(hostPath, 'inside'), options: ['bind'] });
  }

  /** Stops all faults; ending pods proceed to their end. */
  async settle(): Promise<void> {
    this.faults.length = 0;
    for (const uid of UIDS) {
      if (this.#worker.get(uid) === 'terminating') this.end(uid);
    }
    this.node.complete();
    const isRight = (uid: string) => {
      const reported = this.node.published(uid);
      // Nothing is reported about a pod without volumes.
      if (!this.wanted.has(uid) || this.#volumes[uid]?.length === 0) return reported === undefined;
      return reported?.ready === true && reported.errors === undefined;
    };
    while (!this.node.manager.ready || !UIDS.every(isRight)) {
      await turns(50);
      await this.clock.advance(1_000);
    }
    for (const uid of UIDS) if (this.#worker.get(uid) === 'terminated') this.end(uid);
    while (this.node.manager.count !== this.wanted.size) await turns(1);
    for (const [uid, files] of this.#files) for (const file of files) expect(readFileSync(file, 'utf8')).toBe(uid);
  }

  /** The whole state: on the machine, in the records, and published. */
  async picture(): Promise<unknown> {
    const parents = ['', '/kubernetes.io', '/kubernetes.io/local-volume', '/kubernetes.io/local-volume/mounts'];
    const may = new Set(['750 0 pods', ...parents.map((path) => `750 0 plugins${path}`)]);
    const files = (await everything(this.root)).filter(
      (line) => !may.has(line) && !/\/(inside|written|lost\+found)/.test(line),
    );
    const reported = UIDS.map((uid) => JSON.stringify(this.node.published(uid) ?? null).replaceAll(this.root, ''));
    const mounts = (await mountsBelow(this.root)).filter(({ target }) => !target.includes('/inside')).length;
    return { files, reported, mounts, records: (await this.records.keys()).sort() };
  }
}

const everyKind = ['disk', 'limited', 'memory', 'host', 'folder', 'device'];
const names = fc.subarray(everyKind);
const volumes = fc.record({ a: names, b: names, c: names });
const uid = fc.constantFrom(...UIDS);
type Action = (world: World) => Promise<void> | void;
const show = (text: string, act: Action) => Object.assign(act, { [fc.toStringMethod]: () => text });
const wanted = (id: string) => show(`want ${id}`, (w) => w.want(id));
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: uid.map(wanted) },
  { weight: 4, arbitrary: uid.map((id) => show(`end ${id}`, (w) => w.end(id))) },
  { weight: 1, arbitrary: uid.map((id) => show(`lose ${id}`, (w) => w.lose(id))) },
  { weight: 2, arbitrary: uid.map((id) => show(`write ${id}`, (w) => w.write(id))) },
  { weight: 1, arbitrary: uid.map((id) => show(`intrude ${id}`, (w) => w.intrude(id))) },
  { weight: 1, arbitrary: fc.constant(show('complete', (w) => w.node.complete())) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.constantFrom<Fault>('before', 'after'), { minLength: 1, maxLength: 4 })
      .map((faults) => show(`fail ${faults.join()}`, (w) => void w.faults.push(...faults))),
  },
  { weight: 4, arbitrary: fc.constantFrom(1, 10, 100).map((count) => show(`turns ${count}`, () => turns(count))) },
  { weight: 2, arbitrary: fc.constantFrom(500, 10_000).map((ms) => show(`pass ${ms}`, (w) => w.clock.advance(ms))) },
  {
    weight: 2,
    arbitrary: fc.constant(
      show('restart', async (w) => {
        await w.node.kill();
        await w.start();
      }),
    ),
  },
);

test('any schedule ends with exactly the desired state', async () => {
  let run = 0;
  const ready = new Set<string>();
  await fc.assert(
    fc.asyncProperty(volumes, fc.array(action, { minLength: 5, maxLength: 30 }), async (volumes, actions) => {
      run += 1;
      const [world, plain] = [new World(`run${run}`, volumes), new World(`plain${run}`, volumes)];
      try {
        await world.start();
        for (const act of actions) await act(world);
        await world.settle();
        for (const id of UIDS) if (world.node.published(id)?.ready === true) ready.add(id);
        const picture = await world.picture();
        // Here the pods that are desired now are all that ever existed.
        const { wanted } = world;
        await world.node.kill();
        await removeRoot(world.root);
        await plain.start();
        for (const id of wanted) plain.want(id);
        await plain.settle();
        expect(picture).toEqual(await plain.picture());
        expect(readFileSync(join(dir, 'shared/file'), 'utf8')).toBe('kept');
      } finally {
        for (const one of [world, plain]) {
          await one.node.kill();
          if (existsSync(one.root)) await removeRoot(one.root);
        }
      }
    }),
    { numRuns: 8, examples: [[{ a: everyKind, b: everyKind, c: everyKind }, UIDS.map(wanted)]] },
  );
  expect(ready.size).toBe(UIDS.length);
});
