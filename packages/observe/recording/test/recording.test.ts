import { describe, expect, test } from '@jest/globals';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { HEADER } from '@kubus/bus';
import { RecordingWriter, sealRecording } from '../src/index.ts';
import { EPOCH, made, unreadable } from './made-messages.ts';
import { complete, create, folder, meta, read } from './recording-folder.ts';

test('can be read exactly as recorded while it is written', () => {
  const writer = create();
  const messages = [made({ seq: 1, number: 1, pod: 'u1', data: { a: 'ä' } }), made({ seq: 2, number: 2 })];
  writer.append(messages);
  expect(readdirSync(folder).map((file) => statSync(join(folder, file)).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  read(writer.path, (reader) => {
    expect([...reader.all()]).toEqual(messages);
    expect(reader.document()).toMatchObject({ ...meta, firstAt: EPOCH + 1, lastAt: EPOCH + 2, messages: 2 });
    expect(reader.document().completeness).toEqual(complete);
    expect(reader.document().ended).toBeUndefined();
  });
  writer.finish(EPOCH + 9);
  sealRecording(writer.path);
  expect(readdirSync(folder)).toEqual(['one.kubus']);
  expect(read(writer.path, (reader) => reader.meta)).toEqual({ ...meta, state: 'complete', ended: EPOCH + 9 });
});

describe('completeness', () => {
  test('a gap in the broker’s sequence counts as dropped messages', () => {
    const writer = create({ after: 10 });
    writer.append([made({ seq: 13, number: 1 }), made({ seq: 14, number: 2 })]);
    writer.append([made({ seq: 20, number: 3 })]);
    writer.close();
    expect(read(writer.path, (reader) => reader.completeness())).toEqual({ ...complete, droppedByBroker: 7 });
  });

  test('without a start position, a recording starts with its first message', () => {
    const writer = create();
    writer.append([made({ seq: 13, number: 5 })]);
    writer.close();
    expect(read(writer.path, (reader) => reader.completeness())).toEqual(complete);
  });

  test('sequence numbers that arrive late are not missing, in any order', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 40 });
    const speakers = fc.array(fc.tuple(fc.constantFrom('prober-0', 'sync-loop-0'), numbers), { maxLength: 4 });
    let run = 0;
    fc.assert(
      fc.property(speakers, fc.integer({ min: 1, max: 9 }), (lives, size) => {
        const writer = create({ name: `run${++run}` });
        let seq = 0;
        // Numbers are counted from the first one: smaller ones are older.
        const messages = lives.flatMap(([source, all], epoch) =>
          all.map((number) => made({ seq: ++seq, source, epoch, number })),
        );
        for (let from = 0; from < messages.length; from += size) writer.append(messages.slice(from, from + size));
        writer.close();
        const missing = lives.map(([, all]) => {
          const [first = 0] = all;
          return Math.max(...all) - first + 1 - all.filter((number) => number >= first).length;
        });
        const { neverStored } = read(writer.path, (reader) => reader.completeness());
        expect(neverStored).toBe(missing.reduce((sum, count) => sum + count, 0));
      }),
      { numRuns: 25 },
    );
  });

  test('an older fact that is published again starts no count', () => {
    const writer = create();
    writer.append([
      made({ seq: 1, source: 'prober-0', number: 1 }),
      made({ seq: 2, number: 3, at: EPOCH - 5_000, stored: EPOCH + 2 }),
      made({ seq: 3, number: 900 }),
      made({ seq: 4, number: 901 }),
      made({ seq: 5, number: 901 }),
    ]);
    writer.close();
    expect(read(writer.path, (reader) => reader.completeness())).toEqual(complete);
  });

  test('messages superseded before the broker started are not missing; those lost later are', () => {
    const writer = create();
    // The service published these before the start, and publishes them again in the order of keys; 2, 4 and 5 were superseded.
    const before = [1, 6, 3].map((number, index) =>
      made({ seq: index + 1, number, at: EPOCH - 100 + number, stored: EPOCH + index }),
    );
    writer.append(before);
    writer.append([made({ seq: 4, number: 7 }), made({ seq: 5, number: 9 })]);
    writer.close();
    expect(read(writer.path, (reader) => reader.completeness())).toEqual({ ...complete, neverStored: 1 });
  });

  test('an unreadable message is kept and counted', () => {
    const writer = create();
    writer.append([unreadable(1), made({ seq: 2, number: 1 })]);
    writer.close();
    read(writer.path, (reader) => {
      expect(reader.completeness()).toEqual({ ...complete, unreadable: 1 });
      expect([...reader.all()]).toHaveLength(2);
    });
  });
});

test('recorded messages are skipped; another process continues where the first one ended', () => {
  const first = create();
  const batch = [made({ seq: 5, number: 1, pod: 'u1' }), made({ seq: 6, number: 2, pod: 'u1' })];
  first.append(batch, { first: 5, broker: 1, created: 'then' });
  first.close();
  const second = RecordingWriter.open(first.path);
  expect(second.last).toBe(6);
  expect(second.lives()).toEqual([{ first: 5, broker: 1, created: 'then' }]);
  expect(second.find(5)).toEqual({ stored: EPOCH + 5.5, subject: 'kubus.node0.sync.fact.pod.u1' });
  second.append([...batch, made({ seq: 7, number: 3, pod: 'u1' })]);
  second.close();
  read(first.path, (reader) => {
    expect(reader.count).toBe(3);
    expect(reader.completeness()).toEqual(complete);
    expect(reader.pods()).toMatchObject([{ uid: 'u1', messages: 3 }]);
  });
});

test('a batch that cannot be written leaves no part behind', () => {
  const writer = create();
  writer.append([made({ seq: 1, number: 1 })]);
  const broken = { ...made({ seq: 3, number: 9, pod: 'u2' }), stored: Symbol('none') as unknown as number };
  expect(() => writer.append([made({ seq: 2, number: 2, pod: 'u2' }), broken])).toThrow();
  writer.append([made({ seq: 2, number: 2, pod: 'u2' })]);
  writer.close();
  read(writer.path, (reader) => {
    expect(reader.count).toBe(2);
    expect(reader.completeness()).toEqual(complete);
    expect(reader.pods()).toMatchObject([{ uid: 'u2', messages: 1 }]);
  });
});

describe('finding', () => {
  const kinds = ['fact', 'cmd', 'event', 'reply'] as const;
  const one = fc.record({
    source: fc.constantFrom('prober-0', 'pod-workers-0', 'pod-workers-1'),
    kind: fc.constantFrom(...kinds),
    type: fc.constantFrom('a.*.c/1', 'a.*.c/2', 'd.*.f/1'),
    pod: fc.option(fc.constantFrom('u1', 'u2'), { nil: undefined }),
    later: fc.integer({ min: 0, max: 30 }),
  });
  const asked = fc.record(
    {
      pod: fc.constantFrom('u1', 'u3'),
      type: fc.constantFrom('a.fact.c', 'a.cmd.c/2'),
      source: fc.constantFrom('pod-workers', 'pod-workers-1', 'nobody'),
      kind: fc.constantFrom(...kinds),
      from: fc.integer({ min: 0, max: 40 }),
      to: fc.integer({ min: 0, max: 40 }),
      after: fc.integer({ min: 0, max: 40 }),
    },
    { requiredKeys: [] },
  );

  test('returns exactly the matching messages, page by page', () => {
    let run = 0;
    fc.assert(
      fc.property(fc.array(one, { maxLength: 30 }), asked, fc.integer({ min: 1, max: 7 }), (all, ask, limit) => {
        const writer = create({ name: `run${++run}` });
        const messages = all.map(({ later, kind, type, pod, ...rest }, index) =>
          made({
            ...{ ...rest, seq: index + 1, number: index + 1, at: EPOCH + index + later, type: type.replace('*', kind) },
            ...(pod !== undefined && { pod }),
          }),
        );
        writer.append(messages);
        writer.close();
        const wanted = all.flatMap(({ source, kind, type, pod, later }, index) => {
          const at = index + later;
          const own = type.replace('*', kind === 'reply' ? 'cmd' : kind);
          const fits =
            (ask.pod === undefined || ask.pod === pod) &&
            (ask.type === undefined || own === ask.type || own.split('/')[0] === ask.type) &&
            (ask.source === undefined || source === ask.source || source.startsWith(`${ask.source}-`)) &&
            (ask.kind === undefined || kind === ask.kind) &&
            (ask.from === undefined || at >= ask.from) &&
            (ask.to === undefined || at <= ask.to) &&
            (ask.after === undefined || index + 1 > ask.after);
          return fits ? [index + 1] : [];
        });
        const filter = {
          ...ask,
          ...(ask.from !== undefined && { from: EPOCH + ask.from }),
          ...(ask.to !== undefined && { to: EPOCH + ask.to }),
        };
        read(writer.path, (reader) => {
          expect(reader.messages(filter, limit).map(({ seq }) => seq)).toEqual(wanted.slice(0, limit));
          expect([...reader.all(filter)].map(({ seq }) => seq)).toEqual(wanted);
        });
      }),
      { numRuns: 20 },
    );
  });

  test('follows causes and effects, and for a pod also causes that belong to no pod', () => {
    const writer = create();
    const [mount, other] = ['volume-manager-0', 'prober-0'];
    writer.append([
      made({ seq: 1, number: 1, source: other }),
      made({ seq: 2, number: 1, source: mount, causes: ['prober-0.1.1'] }),
      made({ seq: 3, number: 1, pod: 'u1', causes: ['volume-manager-0.1.1', 'gone.1.5', 'no id'] }),
      made({ seq: 4, number: 2, pod: 'u2', causes: ['prober-0.1.1'] }),
      made({ seq: 5, number: 3, pod: 'u1', causes: ['sync-loop-0.1.2', 'sync-loop-0.1.1'] }),
      made({ seq: 6, number: 1, pod: 'u1' }),
    ]);
    writer.close();
    read(writer.path, (reader) => {
      expect(reader.messageById('sync-loop-0.1.1')?.seq).toBe(3);
      expect(reader.messageById('gone.1.5')).toBeUndefined();
      expect(reader.effects(1, 10).map(({ seq }) => seq)).toEqual([2, 4]);
      expect(reader.effects(1, 1).map(({ seq }) => seq)).toEqual([2]);
      expect(reader.podMessages('u1').map(({ seq }) => seq)).toEqual([1, 2, 3, 5, 6]);
      expect(reader.message(9)).toBeUndefined();
    });
  });
});

test('density counts every message once, in wide and in narrow buckets', () => {
  const times = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 30 });
  let run = 0;
  fc.assert(
    fc.property(times, fc.integer({ min: 1, max: 200 }), (all, buckets) => {
      const writer = create({ name: `run${++run}` });
      writer.append(all.map((at, index) => made({ seq: index + 1, number: index + 1, at: EPOCH + at })));
      writer.close();
      const density = read(writer.path, (reader) => reader.density(buckets));
      const [own, ...others] = density.services;
      expect([own?.service, others, own?.counts.length]).toEqual(['sync-loop', [], buckets]);
      expect(own?.counts.reduce((sum, count) => sum + count, 0)).toBe(all.length);
      expect(density.from).toBeLessThanOrEqual(EPOCH + Math.min(...all));
      expect(density.to).toBeGreaterThanOrEqual(EPOCH + Math.max(...all));
    }),
    { numRuns: 25 },
  );
});

describe('a pod in lists', () => {
  const ref = { namespace: 'default', name: 'web', uid: 'u1' };
  const say = (seq: number, type: string, data: unknown) => made({ seq, number: seq, pod: 'u1', type, data });
  const status = (phase: string, ready: string) => ({
    ...{ ref, status: { phase, conditions: [{ type: 'Ready', status: ready }] } },
  });
  test('has its state and the durations of its start and stop', () => {
    const gone = made({ seq: 6, number: 6, pod: 'u1', type: 'config.fact.file/1' });
    const headers = { ...gone.message.headers, [HEADER.removed]: 'true' };
    const writer = create();
    writer.append([
      say(1, 'config.fact.file/1', { operation: 'ADD', pod: { metadata: ref } }),
      say(2, 'worker.fact.status/1', status('Pending', 'False')),
      say(3, 'worker.fact.status/1', status('Running', 'True')),
      say(4, 'worker.fact.state/1', { ref, state: 'syncing' }),
    ]);
    const began = { uid: 'u1', namespace: 'default', name: 'web', phase: 'Running', ready: true, startMs: 2 };
    expect(read(writer.path, (reader) => reader.pod('u1'))).toMatchObject({ ...began, worker: 'syncing' });
    expect(read(writer.path, (reader) => reader.pod('u1')?.stopMs)).toBeUndefined();
    writer.append([
      { ...gone, message: { ...gone.message, headers, data: '' } },
      say(7, 'worker.fact.status/1', status('Running', 'False')),
      say(9, 'worker.fact.state/1', { ref, state: 'finished' }),
    ]);
    const ended = { ...began, ready: false, worker: 'finished', stopMs: 3 };
    expect(read(writer.path, (reader) => reader.pods())).toMatchObject([{ ...ended, messages: 7 }]);
    // The UID of a static pod is reused.
    writer.append([
      say(20, 'config.fact.file/1', { pod: { metadata: ref } }),
      say(25, 'worker.fact.status/1', status('Succeeded', 'False')),
      say(26, 'worker.fact.status/1', status('Succeeded', 'False')),
    ]);
    writer.close();
    const again = { ...ended, phase: 'Succeeded', startMs: 5 };
    expect(read(writer.path, (reader) => reader.pods())).toMatchObject([{ ...again, messages: 10 }]);
  });
});

test('the mirror of a static pod is not in the list', () => {
  const writer = create();
  const of = (uid: string, annotations: object) => ({
    pod: { metadata: { namespace: 'default', name: 'web', uid, annotations } },
  });
  writer.append([
    made({ seq: 1, number: 1, pod: 'u1', type: 'config.fact.file/1', data: of('u1', {}) }),
    made({
      seq: 2,
      number: 2,
      pod: 'u2',
      type: 'config.fact.api/1',
      data: of('u2', { 'kubernetes.io/config.mirror': 'u1' }),
    }),
  ]);
  writer.close();
  expect(read(writer.path, (reader) => reader.pods().map(({ uid }) => uid))).toEqual(['u1']);
});

test('a pod of which there is only the event that its source does not pass it on has its name in the list', () => {
  const writer = create();
  const ref = { namespace: 'default', name: 'web', uid: 'u1' };
  const data = { ref, type: 'Warning', reason: 'FailedValidation', message: 'due to duplicate pod name' };
  writer.append([made({ seq: 1, number: 1, pod: 'u1', type: 'config.event.recorded/1', data })]);
  writer.close();
  const listed = { ...ref, state: 'failed', reason: 'FailedValidation', messages: 1 };
  expect(read(writer.path, (reader) => reader.pods())).toMatchObject([listed]);
});

describe('the oldest messages are dropped', () => {
  const filled = () => {
    const writer = create();
    for (let from = 0; from < 1_200; from += 100) {
      const numbers = Array.from({ length: 100 }, (_, index) => from + index + 1);
      writer.append(
        numbers.map((seq) =>
          made({
            ...{ seq, number: seq, pod: seq < 700 ? 'u1' : 'u2', data: 'x'.repeat(500) },
            causes: [`sync-loop-0.1.${seq - 1}`],
          }),
        ),
      );
    }
    return writer;
  };

  test('by age, with everything that refers to them', () => {
    const writer = filled();
    expect(writer.dropOldest({ before: EPOCH + 701, maxBytes: Number.MAX_SAFE_INTEGER })).toBe(700);
    writer.append([made({ seq: 1_201, number: 1_201 })]);
    read(writer.path, (reader) => {
      expect(reader.document()).toMatchObject({ messages: 501, firstAt: EPOCH + 701, completeness: complete });
      expect(reader.pods()).toMatchObject([{ uid: 'u2', messages: 500, firstAt: EPOCH + 701 }]);
      expect(reader.effects(701, 9).map(({ seq }) => seq)).toEqual([702]);
      expect(reader.density(3).services[0]?.counts.reduce((sum, count) => sum + count)).toBe(501);
    });
    expect(writer.dropOldest({ before: EPOCH + 701, maxBytes: Number.MAX_SAFE_INTEGER })).toBe(0);
    writer.dropOldest({ before: Number.MAX_SAFE_INTEGER, maxBytes: 1 });
    writer.close();
    const database = new DatabaseSync(writer.path, { readOnly: true });
    for (const table of ['messages', 'bodies', 'causes', 'pods', 'slots', 'gaps', 'holes']) {
      expect([table, database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.['rows']]).toEqual([table, 0]);
    }
    database.close();
  });

  test('by size', () => {
    const writer = filled();
    const before = writer.bytes;
    writer.dropOldest({ before: 0, maxBytes: before / 2 });
    expect(writer.bytes).toBeLessThanOrEqual(before / 2);
    const { count } = read(writer.path, (reader) => ({ count: reader.count }));
    expect(count).toBeGreaterThan(0);
    expect(writer.last).toBe(1_200);
    writer.close();
  });

  test('with the gaps among them', () => {
    const writer = create();
    writer.append([made({ seq: 1, number: 1 }), made({ seq: 5, number: 3 }), made({ seq: 6, number: 4 })]);
    writer.dropOldest({ before: EPOCH + 6, maxBytes: Number.MAX_SAFE_INTEGER });
    writer.close();
    expect(read(writer.path, (reader) => reader.completeness())).toEqual(complete);
  });
});
