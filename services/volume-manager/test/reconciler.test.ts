// Whatever happens to pods, to the machine and to the manager, and in whatever order: in the end there is what there would
// be had nothing happened, and nothing else.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import { mount, mountsBelow } from '@kubus/mount';
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

/** Turns of the event loop in which real files and programs get on. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
}

type Fault = 'before' | 'after';

/** One manager with its node, and what the test knows of the pods. */
class World {
  readonly root: string;
  readonly clock = new ManualClock();
  readonly node = new ScriptedNode(this.clock);
  readonly records = new MemoryRecords();
  /** How the next actions on the machine fail. */
  readonly faults: Fault[] = [];
  readonly wanted = new Set<string>();
  /** The volumes of each pod; a pod never gets others. */
  readonly #volumes: Readonly<Record<string, readonly string[]>>;
  readonly #worker = new Map<string, 'syncing' | 'terminating' | 'terminated'>();
  /** Files in volumes of pods that have not ended since. */
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
      make: (step, tell) => faulty(() => host.make(step, tell)),
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

  /** The next thing that becomes of a pod on its way out. */
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
    } else if (state === 'terminated' && this.node.told(uid) === undefined) this.lose(uid);
  }

  /** Nobody speaks of the pod any more, from one moment to the next. */
  lose(uid: string): void {
    this.wanted.delete(uid);
    this.#files.delete(uid);
    this.#worker.delete(uid);
    this.node.unwant(uid);
    this.node.worker(uid, undefined);
  }

  /** The pod writes into its volumes. */
  write(uid: string): void {
    const { volumes = {}, ready } = this.node.told(uid) ?? {};
    if (ready !== true || this.#worker.get(uid) !== 'syncing') return;
    for (const name of ['disk', 'memory']) {
      const { hostPath } = volumes[name] ?? {};
      if (hostPath === undefined) continue;
      writeFileSync(join(hostPath, 'written'), uid);
      this.#files.set(uid, [...(this.#files.get(uid) ?? []), join(hostPath, 'written')]);
    }
  }

  /** Somebody mounts what is not the node's into a volume. */
  async intrude(uid: string): Promise<void> {
    const { hostPath } = this.node.told(uid)?.volumes['disk'] ?? {};
    const state = this.#worker.get(uid);
    if (hostPath === undefined || (state !== 'syncing' && state !== 'terminating')) return;
    mkdirSync(join(hostPath, 'inside'), { recursive: true });
    await mount({ type: 'none', source: join(dir, 'shared'), target: join(hostPath, 'inside'), options: ['bind'] });
  }

  /** Nothing fails any more; pods that are on their way out go it to its end. */
  async settle(): Promise<void> {
    this.faults.length = 0;
    for (const uid of UIDS) {
      if (this.#worker.get(uid) === 'terminating') this.end(uid);
    }
    this.node.complete();
    const isRight = (uid: string) => {
      const told = this.node.told(uid);
      return this.wanted.has(uid) ? told?.ready === true && told.errors === undefined : told === undefined;
    };
    while (!this.node.manager.ready || !UIDS.every(isRight)) {
      await turns(50);
      await this.clock.advance(1_000);
    }
    for (const uid of UIDS) if (this.#worker.get(uid) === 'terminated') this.end(uid);
    while (this.node.manager.count !== this.wanted.size) await turns(1);
    for (const [uid, files] of this.#files) for (const file of files) expect(readFileSync(file, 'utf8')).toBe(uid);
  }

  /** All that there is: on the machine, in the records, and told. */
  async picture(): Promise<unknown> {
    const parents = ['', '/kubernetes.io', '/kubernetes.io/local-volume', '/kubernetes.io/local-volume/mounts'];
    const may = new Set(['750 0 pods', ...parents.map((path) => `750 0 plugins${path}`)]);
    const files = (await everything(this.root)).filter(
      (line) => !may.has(line) && !/\/(inside|written|lost\+found)/.test(line),
    );
    const told = UIDS.map((uid) => JSON.stringify(this.node.told(uid) ?? null).replaceAll(this.root, ''));
    const mounts = (await mountsBelow(this.root)).filter(({ target }) => !target.includes('/inside')).length;
    return { files, told, mounts, records: (await this.records.keys()).sort() };
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

test('any schedule ends with exactly what is wanted', async () => {
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
        for (const id of UIDS) if (world.node.told(id)?.ready === true) ready.add(id);
        const picture = await world.picture();
        // Here the pods that are wanted now are all that there ever was.
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
    { numRuns: 25, examples: [[{ a: everyKind, b: everyKind, c: everyKind }, UIDS.map(wanted)]] },
  );
  expect(ready.size).toBe(UIDS.length);
});
