import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createInterface } from 'node:readline';
import type { KubeObject } from '@kubus/kube-objects';
import fc from 'fast-check';
import { MemoryStore, SealedObjects, SqliteStore } from '../src/index.ts';

const KEY = Buffer.alloc(32, 7);
/** How often a writer is killed. */
const KILLS = 3;

const mounts: string[] = [];
let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-store-'));
  path = join(folder, 'objects.db');
});

afterEach(() => {
  for (const mounted of mounts.splice(0)) execFileSync('umount', [mounted]);
  rmSync(folder, { recursive: true, force: true });
});

const open = (keep?: number) => new SqliteStore(path, new SealedObjects(KEY), keep);
const object = (name: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, uid: name, resourceVersion: '', creationTimestamp: '' },
  ...more,
});

test('objects, their versions and their history outlive the process', () => {
  const first = open();
  first.put('configmaps', 'a', object('a', { data: { x: '1' } }));
  const before = first.version;
  first.put('configmaps', 'a', object('a', { data: { x: '2' } }));
  first.put('configmaps', 'b', object('b'));
  first.remove('configmaps', 'b', object('b'));
  const { version } = first;
  first.close();
  const second = open();
  expect(second.version).toBe(version);
  expect(second.list('configmaps')).toMatchObject([
    { metadata: { name: 'a', resourceVersion: '3' }, data: { x: '2' } },
  ]);
  expect(second.changesAfter('configmaps', before)?.map(({ type }) => type)).toEqual(['MODIFIED', 'ADDED', 'DELETED']);
  expect(second.listAt('configmaps', before)).toMatchObject([{ data: { x: '1' } }]);
  second.close();
});

test('a compacted store keeps its objects and its version, and tells that older versions have expired', () => {
  const first = open();
  first.put('configmaps', 'a', object('a', { data: { x: '1' } }));
  const old = first.version;
  first.put('configmaps', 'a', object('a', { data: { x: '2' } }));
  first.put('configmaps', 'b', object('b'));
  first.remove('configmaps', 'b', object('b'));
  first.compact();
  const { version } = first;
  first.close();
  const second = open();
  expect(second.version).toBe(version);
  expect(second.list('configmaps')).toMatchObject([{ data: { x: '2' } }]);
  expect(second.changesAfter('configmaps', old)).toBeUndefined();
  expect(second.put('configmaps', 'c', object('c')).metadata.resourceVersion).toBe(String(version + 1));
  second.close();
});

test('the history is bounded', () => {
  const store = open(10);
  for (let count = 0; count < 100; count++) store.put('configmaps', 'a', object('a', { data: { x: String(count) } }));
  expect(store.changesAfter('configmaps', 1)).toBeUndefined();
  expect(store.changesAfter('configmaps', store.version - 10)).toHaveLength(10);
  store.close();
  const again = open(10);
  expect(again.list('configmaps')).toMatchObject([{ data: { x: '99' } }]);
  again.close();
});

test('its history is that of a store in memory', () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    action: fc.constantFrom('put', 'put', 'remove', 'compact', 'open'),
  });
  const resource = fc.constantFrom('configmaps', 'secrets');
  const property = fc.property(fc.array(fc.tuple(resource, step), { maxLength: 20 }), (steps) => {
    const model = new MemoryStore();
    let store = open();
    try {
      for (const [index, [resource, { key, action }]] of steps.entries()) {
        for (const one of [store, model]) {
          const last = one.get(resource, key);
          if (action === 'put') one.put(resource, key, object(key, { data: { x: String(index) } }));
          else if (action === 'remove' && last !== undefined) one.remove(resource, key, last);
          else if (action === 'compact') one.compact();
        }
        if (action === 'open') {
          store.close();
          store = open();
        }
        expect(store.version).toBe(model.version);
        for (let version = 0; version <= model.version; version++) {
          expect(store.changesAfter(resource, version)).toEqual(model.changesAfter(resource, version));
          expect(store.listAt(resource, version)).toEqual(model.listAt(resource, version));
        }
      }
    } finally {
      store.close();
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
    }
  });
  fc.assert(property, { numRuns: 30 });
});

describe('the file', () => {
  test('does not contain the content of Secrets, and nobody else can read it', () => {
    const store = open();
    store.put('secrets', 'a', object('a', { data: { password: 'c2VjcmV0LXZhbHVl' } }));
    store.put('configmaps', 'a', object('a', { data: { plain: 'to-be-found' } }));
    const files = readdirSync(folder).map((name) => join(folder, name));
    const content = files.map((file) => readFileSync(file, 'latin1')).join('');
    expect(content).toContain('to-be-found');
    expect(content).not.toContain('c2VjcmV0LXZhbHVl');
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual(files.map(() => 0o600));
    store.close();
  });

  test('is refused with another key, and when it is none', () => {
    const store = open();
    store.put('secrets', 'a', object('a', { data: { password: 'x' } }));
    store.close();
    const other = () => new SqliteStore(path, new SealedObjects(Buffer.alloc(32, 8)));
    expect(other).toThrow('an object of secrets was encrypted with another key');
    writeFileSync(path, 'this is a text and no database, however long it is');
    expect(open).toThrow(`${path}: cannot be read`);
  });

  test('of another version is refused with what to do', () => {
    open().close();
    const database = new DatabaseSync(path);
    database.exec('PRAGMA user_version = 2');
    database.close();
    expect(open).toThrow(`${path}: has version 2; this Kubus reads version 1: use the Kubus that wrote it, or remove`);
  });
});

test('a full disk refuses the write and loses nothing', () => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'kubus-test', folder]);
  mounts.push(folder);
  const store = open();
  store.put('configmaps', 'a', object('a'));
  const { version } = store;
  const large = object('b', { data: { x: 'x'.repeat(1_000_000) } });
  expect(() => store.put('configmaps', 'b', large)).toThrow(
    'the disk of the objects is full: database or disk is full',
  );
  expect(store.version).toBe(version);
  expect(store.get('configmaps', 'b')).toBeUndefined();
  store.close();
  const again = open();
  expect(again.list('configmaps')).toHaveLength(1);
  again.close();
});

test('a compaction that fails loses no change, and is tried again', () => {
  const store = open(10);
  const put = (count: number) => store.put('configmaps', 'a', object('a', { data: { x: String(count) } }));
  // Refuses what a full disk would: only the deletion of old rows.
  const database = new DatabaseSync(path);
  database.exec("CREATE TRIGGER full BEFORE DELETE ON changes BEGIN SELECT RAISE(ABORT, 'full'); END");
  for (let count = 0; count < 35; count++) put(count);
  expect(store.changesAfter('configmaps', 1)).toHaveLength(35);
  database.exec('DROP TRIGGER full');
  database.close();
  for (let count = 35; count < 60; count++) put(count);
  expect(store.changesAfter('configmaps', 1)).toBeUndefined();
  store.close();
  const again = open(10);
  expect(again.list('configmaps')).toMatchObject([{ data: { x: '59' }, metadata: { resourceVersion: '61' } }]);
  again.close();
});

test('a process killed while it writes has lost no answered write, and no version comes twice', async () => {
  const answered = new Map<string, number>();
  for (let round = 0; round < KILLS; round++) {
    const program = join(import.meta.dirname, 'store-writer.ts');
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', program, path, KEY.toString('hex')],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let seen = 0;
    for await (const line of createInterface(child.stdout)) {
      const [key = '', version] = line.split(' ');
      expect([...answered.values()]).not.toContain(Number(version));
      answered.set(key, Number(version));
      // Some are killed in their first writes, others after a compaction.
      if (++seen === 1 + round * 7) child.kill('SIGKILL');
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  const store = open();
  const stored = new Map(
    store.list('configmaps').map(({ metadata }) => [metadata.name, Number(metadata.resourceVersion)]),
  );
  for (const [key, version] of answered) expect(stored.get(key)).toBeGreaterThanOrEqual(version);
  expect(store.version).toBeGreaterThanOrEqual(Math.max(...answered.values()));
  store.close();
});
