import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KubusError } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import { ConfigSources, registeredSources } from '../src/index.ts';
import { Follower, ScriptedFolder, manifestOf, mergeInto, silent } from './doubles.ts';

function bench() {
  const clock = new ManualClock();
  const folder = new ScriptedFolder();
  const records = new MemoryRecords();
  /** Starts one process of the service. */
  const begin = async () => {
    const follower = new Follower();
    const merge = mergeInto(follower, 'file');
    const sources = new ConfigSources({ node: 'n', clock, logger: silent, records, taker: merge, file: { folder } });
    await sources.start();
    return { follower, sources, merge };
  };
  return { clock, folder, records, begin };
}

describe('at the start', () => {
  test('existing files are read in the order of their names, and the set is complete', async () => {
    const { folder, begin } = bench();
    folder.files.set('/m/b.yaml', manifestOf('b'));
    folder.files.set('/m/a.yaml', `${manifestOf('a1')}---\n${manifestOf('a2')}`);
    const { follower, merge } = await begin();
    expect(follower.takeLog()).toEqual([
      'manifest /m/a.yaml 0',
      'manifest /m/b.yaml 0',
      'ADD a1-n',
      'ADD a2-n',
      'ADD b-n',
      'complete file',
    ]);
    expect(registeredSources({ file: { folder } })).toEqual(['file']);
    expect(merge.ready).toBe(true);
    expect(follower.manifests.get('/m/a.yaml')).toEqual({
      path: '/m/a.yaml',
      readAt: '2030-01-01T00:00:00.000Z',
      pods: [...follower.pods.values()]
        .slice(0, 2)
        .map(({ metadata: { namespace, name, uid } }) => ({ namespace, name, uid })),
      errors: [],
      warnings: [],
    });
  });

  test.each([
    ['an empty folder', (folder: ScriptedFolder) => folder.files.clear()],
    ['a missing folder', (folder: ScriptedFolder) => (folder.missing = true)],
  ])('%s is a complete set', async (_, prepare) => {
    const { folder, begin } = bench();
    prepare(folder);
    expect((await begin()).follower.log).toEqual(['complete file']);
  });

  test('a folder that cannot be read changes no pods and is not complete', async () => {
    const { clock, folder, begin } = bench();
    folder.files.set('/m/a.yaml', manifestOf('a'));
    folder.failing = true;
    const { follower, merge } = await begin();
    expect(follower.takeLog()).toEqual(['manifest /m 1']);
    expect(merge.ready).toBe(false);
    folder.failing = false;
    await clock.advance(20_000);
    expect(follower.takeLog()).toEqual(['gone /m', 'manifest /m/a.yaml 0', 'ADD a-n', 'complete file']);
    folder.failing = true;
    await clock.advance(20_000);
    expect(follower.takeLog()).toEqual(['manifest /m 1']);
    expect(follower.running).toEqual(['a-n=i']);
  });

  test('without a file source the set is complete at once', async () => {
    const { clock, records } = bench();
    const follower = new Follower();
    const merge = mergeInto(follower);
    await new ConfigSources({ node: 'n', clock, logger: silent, records, taker: merge }).start();
    expect([registeredSources({}), merge.ready, follower.log]).toEqual([[], true, []]);
  });
});

describe('changes', () => {
  test('of one burst are read once, soon after its end and not much later than its beginning', async () => {
    const { clock, folder, begin } = bench();
    await begin();
    const before = folder.reads;
    for (let i = 0; i < 10; i++) {
      folder.changed();
      await clock.advance(4);
    }
    expect(folder.reads).toBe(before);
    await clock.advance(1);
    expect(folder.reads).toBe(before + 1);
    for (let i = 0; i < 60; i++) {
      folder.changed();
      await clock.advance(4);
    }
    expect(folder.reads).toBe(before + 3);
  });

  test('during a read lead to another read', async () => {
    const { clock, folder, begin } = bench();
    const { follower } = await begin();
    folder.hold();
    folder.changed();
    await clock.advance(5);
    folder.files.set('/m/a.yaml', manifestOf('a'));
    folder.changed();
    const reads = folder.reads;
    await clock.advance(1_000);
    expect(folder.reads).toBe(reads);
    folder.release();
    await clock.advance(5);
    expect(folder.reads).toBe(reads + 1);
    expect(follower.running).toEqual(['a-n=i']);
  });

  test('without a notification are found every 20 seconds', async () => {
    const { clock, folder, begin } = bench();
    const { follower } = await begin();
    folder.files.set('/m/a.yaml', manifestOf('a'));
    await clock.advance(19_999);
    expect(follower.running).toEqual([]);
    await clock.advance(1);
    expect(follower.running).toEqual(['a-n=i']);
    follower.takeLog();
    await clock.advance(60_000);
    expect(follower.log).toEqual([]);
  });

  test('of a manifest remove the pod and add another one', async () => {
    const { clock, folder, begin } = bench();
    folder.files.set('/m/a.yaml', manifestOf('a'));
    const { follower } = await begin();
    follower.takeLog();
    folder.files.set('/m/a.yaml', manifestOf('a', 'j'));
    folder.changed();
    await clock.advance(5);
    expect(follower.takeLog()).toEqual(['manifest /m/a.yaml 0', 'REMOVE a-n', 'ADD a-n']);
    folder.files.delete('/m/a.yaml');
    folder.changed();
    await clock.advance(5);
    expect(follower.takeLog()).toEqual(['gone /m/a.yaml', 'REMOVE a-n']);
  });

  test('that remove a manifest and create it again unchanged restart its pods', async () => {
    const { clock, folder, begin } = bench();
    for (const name of ['a', 'b']) folder.files.set(`/m/${name}.yaml`, manifestOf(name));
    const { follower } = await begin();
    follower.takeLog();
    folder.returned.add('/m/a.yaml');
    folder.changed();
    await clock.advance(5);
    expect(follower.takeLog()).toEqual(['gone /m/a.yaml', 'REMOVE a-n']);
    folder.changed();
    await clock.advance(99);
    expect(follower.takeLog()).toEqual([]);
    await clock.advance(1);
    expect(follower.takeLog()).toEqual(['manifest /m/a.yaml 0', 'ADD a-n']);
    folder.changed();
    await clock.advance(5);
    expect(follower.takeLog()).toEqual([]);
  });

  test('after stop are not followed', async () => {
    const { clock, folder, begin } = bench();
    const { sources, follower } = await begin();
    folder.files.set('/m/a.yaml', manifestOf('a'));
    folder.hold();
    folder.changed();
    await clock.advance(5);
    sources.stop();
    folder.release();
    await settled();
    expect([follower.running, folder.listeners, clock.waits.length]).toEqual([[], 0, 0]);
  });
});

describe('a faulty file', () => {
  const half = manifestOf('a', 'j').slice(0, 60);

  test('keeps its pods and does not affect other files', async () => {
    const { clock, folder, begin } = bench();
    folder.files.set('/m/a.yaml', manifestOf('a'));
    const { follower } = await begin();
    follower.takeLog();
    folder.files.set('/m/a.yaml', half);
    folder.files.set('/m/b.yaml', manifestOf('b'));
    folder.changed();
    await clock.advance(5);
    expect(follower.takeLog()).toEqual(['manifest /m/a.yaml 1', 'manifest /m/b.yaml 0', 'ADD b-n']);
    expect(follower.running).toEqual(['a-n=i', 'b-n=i']);
    expect(follower.manifests.get('/m/a.yaml')).toMatchObject({
      pods: [{ name: 'a-n' }],
      errors: [{ document: 0 }],
      warnings: [{ message: 'pod default/a-n stays as it was before the file became invalid' }],
    });
    await clock.advance(60_000);
    expect(follower.takeLog()).toEqual([]);
    folder.files.set('/m/a.yaml', manifestOf('a', 'j'));
    folder.changed();
    await clock.advance(5);
    expect(follower.takeLog()).toEqual(['manifest /m/a.yaml 0', 'REMOVE a-n', 'ADD a-n']);
  });

  test('applies changes in its valid part', async () => {
    const { clock, folder, begin } = bench();
    folder.files.set('/m/a.yaml', `${manifestOf('a')}---\n${manifestOf('b')}`);
    const { follower } = await begin();
    folder.files.set('/m/a.yaml', `${manifestOf('a', 'j')}---\n${half}`);
    folder.changed();
    await clock.advance(5);
    expect(follower.running).toEqual(['a-n=j', 'b-n=i']);
  });

  test.each(['', '# only a comment\n'])('with the text %j keeps its pods', async (text) => {
    const { clock, folder, begin } = bench();
    folder.files.set('/m/a.yaml', manifestOf('a'));
    const { follower } = await begin();
    folder.files.set('/m/a.yaml', text);
    folder.changed();
    await clock.advance(5);
    expect(follower.running).toEqual(['a-n=i']);
  });

  test('that cannot be read is reported once', async () => {
    const { clock, folder, begin } = bench();
    folder.files.set('/m/a.yaml', manifestOf('a'));
    const { follower } = await begin();
    follower.takeLog();
    folder.unreadable.add('/m/a.yaml');
    await clock.advance(60_000);
    expect(follower.takeLog()).toEqual(['manifest /m/a.yaml 1']);
    expect(follower.running).toEqual(['a-n=i']);
  });

  test('keeps its pods over a restart', async () => {
    const { clock, folder, begin } = bench();
    folder.files.set('/m/a.yaml', manifestOf('a'));
    const first = await begin();
    folder.files.set('/m/a.yaml', half);
    folder.changed();
    await clock.advance(5);
    first.sources.stop();
    const { follower } = await begin();
    expect(follower.takeLog()).toEqual(['manifest /m/a.yaml 1', 'ADD a-n', 'complete file']);
    expect([...follower.pods]).toEqual([...first.follower.pods]);
  });

  test('has pods although no record can be written', async () => {
    const { records, folder, begin } = bench();
    records.failure = new KubusError('state-folder', 'no space left on device');
    folder.files.set('/m/a.yaml', manifestOf('a'));
    expect((await begin()).follower.running).toEqual(['a-n=i']);
  });
});

test('of two pods with one name the first file’s is used, with a single Kubernetes event', async () => {
  const { clock, folder, begin } = bench();
  folder.files.set('/m/a.yaml', manifestOf('x'));
  folder.files.set('/m/b.yaml', manifestOf('x', 'j'));
  const { follower } = await begin();
  expect(follower.running).toEqual(['x-n=i']);
  expect(follower.takeLog().filter((line) => line.startsWith('event'))).toEqual(['event x-n FailedValidation']);
  const message = 'Duplicate value: "x-n": pod default/x-n of /m/a.yaml has it; this pod is not run';
  expect(follower.manifests.get('/m/b.yaml')).toMatchObject({
    pods: [],
    errors: [{ field: 'metadata.name', message }],
  });
  folder.files.set('/m/c.yaml', manifestOf('c'));
  folder.changed();
  await clock.advance(5);
  expect(follower.takeLog()).toEqual(['manifest /m/c.yaml 0', 'ADD c-n']);
  folder.files.delete('/m/a.yaml');
  folder.changed();
  await clock.advance(5);
  expect(follower.running).toEqual(['c-n=i', 'x-n=j']);
  expect(follower.manifests.get('/m/b.yaml')).toMatchObject({ pods: [{ name: 'x-n' }], errors: [] });
});

test('of two pods with one UID the second one is an error of its file, until the first one is removed', async () => {
  const { clock, folder, begin } = bench();
  const withUid = (name: string) => manifestOf(name).replace('metadata: {', 'metadata: {uid: "7", ');
  folder.files.set('/m/a.yaml', withUid('a'));
  folder.files.set('/m/b.yaml', `${withUid('b')}---\n${manifestOf('c')}`);
  const { follower } = await begin();
  expect(follower.running).toEqual(['a-n=i', 'c-n=i']);
  const message = 'Duplicate value: "7": pod default/a-n of /m/a.yaml has it; this pod is not run';
  expect(follower.manifests.get('/m/b.yaml')).toMatchObject({
    pods: [{ name: 'c-n' }],
    errors: [{ document: 0, field: 'metadata.uid', message }],
  });
  follower.takeLog();
  folder.files.delete('/m/a.yaml');
  folder.changed();
  await clock.advance(105);
  expect(follower.takeLog()).toEqual(['manifest /m/b.yaml 0', 'gone /m/a.yaml', 'REMOVE a-n', 'ADD b-n']);
  expect(follower.running).toEqual(['b-n=i', 'c-n=i']);
  expect(follower.manifests.get('/m/b.yaml')).toMatchObject({ pods: [{ name: 'b-n' }, { name: 'c-n' }], errors: [] });
});

test('a link whose file was removed is an error, and its pods are removed', async () => {
  const { clock, folder, begin } = bench();
  folder.files.set('/m/a.yaml', manifestOf('a'));
  const { follower } = await begin();
  folder.dangling.add('/m/a.yaml');
  folder.changed();
  await clock.advance(5);
  expect(follower.running).toEqual([]);
  expect(follower.manifests.get('/m/a.yaml')).toMatchObject({
    pods: [],
    errors: [{ message: '/m/a.yaml: no target' }],
  });
  folder.dangling.clear();
  folder.changed();
  await clock.advance(5);
  expect(follower.running).toEqual(['a-n=i']);
});

test('a single file is reported again after its folder could not be read', async () => {
  const { clock, folder, begin } = bench();
  folder.files.set('/m', manifestOf('a'));
  const { follower } = await begin();
  folder.failing = true;
  await clock.advance(20_000);
  folder.failing = false;
  follower.takeLog();
  await clock.advance(20_000);
  expect(follower.takeLog()).toEqual(['gone /m', 'manifest /m 0']);
});

describe('any history of a folder', () => {
  type Step =
    | { path: string; act: 'write' | 'break' | 'shut' | 'open' | 'remove'; pods: string[]; image: string }
    | { act: 'restart' };
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({
        path: fc.constantFrom('/m/a.yaml', '/m/b.yaml'),
        act: fc.constantFrom('write', 'break', 'shut', 'open', 'remove'),
        pods: fc.subarray(['p', 'q', 'r']),
        image: fc.constantFrom('i', 'j'),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ act: 'restart' as const }) },
  );

  test('yields the pods of valid files, and for faulty files the old pods that the new version does not replace', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { clock, folder, begin } = bench();
        let life = await begin();
        /** What each file defines: image by name. */
        const model = new Map<string, Map<string, string>>();
        for (const one of steps) {
          if (one.act === 'restart') {
            life.sources.stop();
            life = await begin();
          } else {
            // Each file has names of its own, so that none is dropped as a duplicate.
            const names = one.pods.map((name) => `${name}${one.path.charAt(3)}`);
            const text = names.map((name) => `${manifestOf(name, one.image)}---\n`).join('');
            const empty = 'apiVersion: v1\nkind: PodList\n---\n';
            const had = model.get(one.path) ?? new Map<string, string>();
            const said = new Map(names.map((name) => [`${name}-n`, one.image]));
            const shut = folder.unreadable.has(one.path);
            if (one.act === 'write' || one.act === 'break') {
              folder.files.set(one.path, `${empty}${text}${one.act === 'break' ? 'kind: [' : ''}`);
              if (!shut) model.set(one.path, one.act === 'break' ? new Map([...had, ...said]) : said);
            } else if (one.act === 'remove') {
              folder.files.delete(one.path);
              folder.unreadable.delete(one.path);
              model.delete(one.path);
            } else if (one.act === 'shut' && folder.files.has(one.path)) {
              folder.unreadable.add(one.path);
            }
            // What was written while the file could not be read would need a model of its own.
            if (shut && one.act !== 'remove') {
              folder.files.set(one.path, empty);
              folder.unreadable.delete(one.path);
              model.set(one.path, new Map());
            }
            folder.changed();
            await clock.advance(5);
          }
          const expected = [...model.values()].flatMap((pods) => [...pods].map(([name, image]) => `${name}=${image}`));
          expect(life.follower.running).toEqual(expected.sort());
          expect([...life.follower.manifests.keys()].sort()).toEqual([...model.keys()].sort());
        }
        expect(life.follower.log.filter((line) => line === 'complete file')).toHaveLength(1);
        life.sources.stop();
        expect(clock.waits.length).toBe(0);
      }),
    );
  });
});
