// What an answer of the API server promises, kept through SIGKILL and a full disk.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '@kubus/ports';
import { Cluster, type SeenEvent } from '../src/index.ts';

/** How often the server is killed. */
const KILLS = process.env['KUBUS_TEST_SOAK'] === '1' ? 200 : 3;
const WRITERS = 3;
const seed = Number(process.env['KUBUS_TEST_SEED']?.split(',')[0] ?? 1 + Math.floor(Math.random() * 1e6));

let folder: string;
let child: ChildProcess | undefined;
const mounts: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-durable-'));
});
afterEach(async () => {
  await kill();
  for (const mounted of mounts.splice(0)) execFileSync('umount', [mounted]);
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<Cluster> {
  const program = join(import.meta.dirname, 'server-process.ts');
  const started = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, join(folder, 'state')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  await once(started.stdout, 'data');
  return Cluster.open(join(folder, 'state', 'admin.kubeconfig'));
}

async function kill(): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const versionOf = ({ object }: SeenEvent) => Number(object.metadata.resourceVersion);
const collection = '/api/v1/namespaces/default/configmaps';

/** Writes objects of its own until the server is gone, and calls back with each answer. */
async function write(cluster: Cluster, writer: string, answered: (name: string, version: number) => void) {
  try {
    for (let count = 0; ; count++) {
      const name = `${writer}-${count % 3}`;
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value: randomUUID() } };
      const before = await cluster.get({ kind: 'ConfigMap', name });
      const { code, body: object } =
        before === undefined
          ? await cluster.raw('POST', collection, { body })
          : count % 7 === 6
            ? await cluster.raw('DELETE', `${collection}/${name}`)
            : await cluster.raw('PUT', `${collection}/${name}`, { body });
      expect(code).toBeLessThan(300);
      const version = (object['metadata'] as { resourceVersion?: string }).resourceVersion;
      // The answer to a deletion has none.
      if (version !== undefined) answered(name, Number(version));
    }
  } catch (error) {
    if (!/ECONNRE|hang up|EPIPE|aborted/.test(String(error))) throw error;
  }
}

test('a server that is killed under writes loses none, gives no version twice, and its watches continue without a gap', async () => {
  process.stderr.write(`durability: the same again with KUBUS_TEST_SEED=${seed}\n`);
  const random = new Random(seed);
  /** Every answered version, and the last one of each object. */
  const versions = new Set<number>();
  const lasts = new Map<string, number>();
  const seen: number[] = [];
  for (let round = 0; round < KILLS; round++) {
    const cluster = await start();
    const { body } = await cluster.raw('GET', collection);
    const reached = Number((body['metadata'] as { resourceVersion: string }).resourceVersion);
    expect(reached).toBeGreaterThanOrEqual(Math.max(0, ...versions));
    const from = seen.at(-1) ?? reached;
    const watch = await cluster.watch(collection, { resourceVersion: String(from) });
    const wanted = 1 + random.below(25);
    let count = 0;
    const follow = async () => {
      for (let event = await watch.next(); event !== undefined; event = await watch.next()) {
        expect(event.type).not.toBe('ERROR');
        expect(versionOf(event)).toBeGreaterThan(seen.at(-1) ?? 0);
        seen.push(versionOf(event));
      }
    };
    const answered = (name: string, version: number) => {
      expect(versions).not.toContain(version);
      expect(version).toBeGreaterThan(reached);
      versions.add(version);
      lasts.set(name, version);
      if (++count === wanted) child?.kill('SIGKILL');
    };
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(cluster, `w${writer}`, answered));
    await Promise.all([...writers, follow()]);
    await kill();
  }
  const cluster = await start();
  const watch = await cluster.watch(collection, { resourceVersion: String(seen.at(-1)) });
  const end = await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'end' } });
  for (let event = await watch.next(); event !== undefined; event = await watch.next()) {
    seen.push(versionOf(event));
    if (event.object.metadata.name === 'end') break;
  }
  watch.close();
  const watched = new Set(seen);
  expect([...versions].filter((version) => !watched.has(version))).toEqual([]);
  expect(seen).toEqual(seen.toSorted((one, other) => one - other));
  expect(watched.size).toBe(seen.length);
  expect(seen.at(-1)).toBe(Number(end.metadata.resourceVersion));
  for (const [name, version] of lasts) {
    const object = await cluster.get({ kind: 'ConfigMap', name });
    // A later write, or deletion, may have been stored without an answer.
    expect(Number(object?.metadata.resourceVersion ?? Infinity)).toBeGreaterThanOrEqual(version);
  }
});

test('a full disk answers 507 with the reason, and loses nothing; with space again it goes on', async () => {
  const state = join(folder, 'state');
  mkdirSync(state);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'kubus-test', state]);
  mounts.push(state);
  const cluster = await start();
  const stored: string[] = [];
  const create = (name: string) =>
    cluster.raw('POST', collection, {
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { filling: 'x'.repeat(100_000) } },
    });
  const names = async (one: Cluster) => (await one.list('ConfigMap', 'default')).map(({ metadata }) => metadata.name);
  let answer = await create('a0');
  for (let count = 1; answer.code === 201 && count < 100; count++) {
    stored.push(`a${count - 1}`);
    answer = await create(`a${count}`);
  }
  expect(answer).toMatchObject({
    code: 507,
    body: {
      kind: 'Status',
      reason: 'InternalError',
      message: expect.stringContaining('the disk of the objects is full'),
    },
  });
  expect(await names(cluster)).toEqual(stored.toSorted());
  await kill();
  execFileSync('mount', ['-o', 'remount,size=8m', state]);
  const again = await start();
  expect(await names(again)).toEqual(stored.toSorted());
  expect((await again.raw('DELETE', `${collection}/a0`)).code).toBe(200);
  await again.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'after' } });
});
