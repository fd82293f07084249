import { HEADER, type StoredMessage, parseTime } from '@kubus/bus';
import { describe, expect, test } from '@jest/globals';
import { type PublishedCount, type ReceivedCount, briefOf, latencyOf, podTimeline, serviceMap } from '@kubus/causality';
import { serviceContracts } from '@kubus/contracts';
import type { MessageBrief } from '@kubus/contracts/observatory';
import * as fc from 'fast-check';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  type RecordingReader,
  RecordingWriter,
  exportRecording,
  importRecording,
  sealRecording,
} from '../src/index.ts';
import { LIVES_BEGAN, podLives } from './pod-lives.ts';
import { create, folder, read } from './recording-folder.ts';

/** As a broker may store them: two neighbours swapped, a fact stored again. */
function stored(messages: readonly StoredMessage[], swapped: readonly number[], again: readonly number[]) {
  const all = [...messages];
  for (const place of swapped) {
    const at = place % (all.length - 1);
    all.splice(at, 2, ...all.slice(at, at + 2).reverse());
  }
  for (const place of again) all.push(...all.slice(place % all.length, (place % all.length) + 1));
  return all.map((one, index) => ({ ...one, seq: index + 1 }));
}

/** The same results, computed from all messages. */
function fromMessages(messages: readonly StoredMessage[]) {
  const uids = new Set(messages.flatMap(({ message }) => message.headers[HEADER.pod] ?? []));
  const timelines = [...uids].map((uid) => podTimeline(uid, messages)).sort((a, b) => a.pod.firstAt - b.pod.firstAt);
  const briefs = new Map<string, MessageBrief>();
  for (const brief of messages.flatMap((one) => briefOf(one) ?? []))
    if (!briefs.has(brief.id)) briefs.set(brief.id, brief);
  const waited = new Set<string>();
  const received = [...briefs.values()].flatMap((effect): ReceivedCount[] => {
    const cause = briefs.get(effect.causes[0] ?? '');
    const key = `${cause?.id ?? ''} ${effect.service}`;
    if (cause === undefined || cause.kind === 'reply' || effect.heard === undefined || waited.has(key)) return [];
    waited.add(key);
    return [{ type: cause.type, service: effect.service, ms: effect.heard - cause.at, messages: 1 }];
  });
  const published = [...briefs.values()].map(({ service, type, kind }): PublishedCount => ({
    service,
    type,
    kind,
    messages: 1,
  }));
  const last = Math.max(...[...briefs.values()].map(({ at }) => at));
  const lately = published.filter((_, index) => ([...briefs.values()][index]?.at ?? 0) > last - 10_000);
  return {
    latency: (['start', 'stop'] as const).map((what) => latencyOf(what, timelines)),
    map: serviceMap(serviceContracts, { published, lately, received, instances: new Map() }),
  };
}

function fromTables(reader: RecordingReader) {
  return {
    latency: (['start', 'stop'] as const).map((what) => latencyOf(what, reader.paths(what))),
    map: reader.serviceMap(serviceContracts),
  };
}

type Answers = ReturnType<typeof fromMessages>;

/** Times on the bus are kept with three digits; announcements are not counted; stored messages are. */
function comparable({ latency, map }: Answers) {
  const round = (ms: number | undefined) => ms && Number(Math.round(ms * 1000).toPrecision(3));
  return {
    latency: latency.map((one) => ({ ...one, pods: one.pods.map((pod) => ({ ...pod, messages: 0 })) })),
    services: map.services.map((one) => ({ ...one, instances: [] })),
    edges: map.edges.map((one) => ({ ...one, busP50: round(one.busP50), busP95: round(one.busP95) })),
  };
}

const lives = fc.record({
  pods: fc.integer({ min: 1, max: 4 }),
  parallel: fc.integer({ min: 1, max: 3 }),
  between: fc.integer({ min: 0, max: 6 }),
});
const places = fc.array(fc.nat({ max: 500 }), { maxLength: 5 });

test('latency and map follow from all messages, in the recording, in its file, and after import', () => {
  let run = 0;
  fc.assert(
    fc.property(lives, places, places, fc.integer({ min: 2, max: 40 }), (options, swapped, again, size) => {
      const messages = stored([...podLives(options)], swapped, again);
      const expected = comparable(fromMessages(messages));
      let writer = create({ name: `run${++run}` });
      for (let from = 0; from < messages.length; from += size) {
        writer.append(messages.slice(from, from + size));
        if (from % 3 !== 0) continue;
        // Another process continues.
        writer.close();
        writer = RecordingWriter.open(writer.path);
      }
      const own = read(writer.path, fromTables);
      expect(comparable(own)).toEqual(expected);
      const [starts] = own.latency;
      const uid = starts?.pods[0]?.uid ?? '';
      const others = starts?.ms.filter((_, index) => starts.pods[index]?.uid !== uid) ?? [];
      expect(read(writer.path, (reader) => reader.starts(100, uid)).sort()).toEqual([...others].sort());
      const file = join(folder, `file${run}.kubus`);
      exportRecording(writer.path, file, { name: 'file', at: LIVES_BEGAN });
      expect(read(file, fromTables)).toEqual(own);
      importRecording(file, `${file}.in`, { name: 'in' });
      expect(read(`${file}.in`, fromTables)).toEqual(own);
      writer.finish(LIVES_BEGAN);
      sealRecording(writer.path);
      expect(read(writer.path, fromTables)).toEqual(own);
    }),
    { numRuns: 5 },
  );
});

test('pods that are running have their complete starts', () => {
  const writer = create();
  const messages = [...podLives({ pods: 3, parallel: 3, between: 4 })];
  writer.append(messages.slice(0, messages.length - 20));
  writer.close();
  const [start, stop] = read(writer.path, fromTables).latency;
  expect(start?.pods.map(({ uid }) => uid)).toEqual(['pod-0', 'pod-1', 'pod-2']);
  expect(start?.segments.at(-1)?.step).toBe('runtime.reply.StartContainer > pod-workers worker.fact.status');
  expect(start?.segments.every(({ ms }) => ms.every((one) => one !== null))).toBe(true);
  expect(stop?.pods).toEqual([]);
});

test('instances are shown as last announced', () => {
  const writer = create();
  const [first, ...rest] = podLives({ pods: 1, parallel: 1, between: 0 });
  if (first === undefined) throw new Error('no message');
  const announced = { ...first, seq: 1_000 };
  const { message } = first;
  const data = JSON.stringify({ service: 'config-sources', epoch: 2, version: '1', pid: 2, startedAt: 'later' });
  const headers = { ...message.headers, [HEADER.epoch]: '2', [HEADER.seq]: '1' };
  writer.append([first, ...rest, { ...first, seq: 900, message: { ...message, headers, data } }, announced]);
  writer.close();
  const { services } = read(writer.path, (reader) => reader.serviceMap(serviceContracts));
  expect(services.find(({ service }) => service === 'config-sources')?.instances).toEqual([
    { instance: 'config-sources-0', epoch: 2, startedAt: 'later' },
  ]);
});

const idOf = ({ message: { headers } }: StoredMessage) =>
  `${headers[HEADER.source] ?? ''}.${headers[HEADER.epoch] ?? ''}.${headers[HEADER.seq] ?? ''}`;
const causesOf = ({ message: { headers } }: StoredMessage) => headers[HEADER.causes]?.split(',') ?? [];

describe('when the oldest messages are dropped', () => {
  const rows = (path: string, sql: string) => {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  };

  test('the counts are those of the remaining messages', () => {
    let run = 0;
    fc.assert(
      fc.property(
        lives,
        places,
        fc.integer({ min: 1, max: 300 }),

        (options, swapped, after) => {
          const messages = stored([...podLives(options)], swapped, []);
          const writer = create({ name: `run${++run}` });
          writer.append(messages);
          const cut = messages[after % messages.length];
          if (cut === undefined) throw new Error('no message');
          // Messages before the first one within the limit are dropped.
          const from = messages.findIndex((one) => one.stored >= cut.stored);
          // A message that is stored before its cause, and dropped without it, has said when it was received.
          const staying = new Set(messages.slice(from).map(idOf));
          fc.pre(!messages.slice(0, from).some((one) => causesOf(one).some((id) => staying.has(id))));
          writer.dropOldest({ before: cut.stored, maxBytes: Number.MAX_SAFE_INTEGER });
          const rest = comparable(fromMessages(messages.slice(from)));
          const kept = comparable(read(writer.path, fromTables));
          expect([kept.services, kept.edges]).toEqual([rest.services, rest.edges]);
          writer.dropOldest({ before: Number.MAX_SAFE_INTEGER, maxBytes: 1 });
          writer.close();
          for (const table of ['said', 'hearings', 'bus', 'paths']) {
            expect([table, rows(writer.path, `SELECT * FROM ${table}`)]).toEqual([table, []]);
          }
        },
      ),
      { numRuns: 12 },
    );
  });

  test('a pod that still has messages keeps its start latency', () => {
    const messages = [...podLives({ pods: 1, parallel: 1, between: 20 })];
    const writer = create();
    writer.append(messages);
    const before = read(writer.path, fromTables).latency;
    const ready = messages.findIndex(({ message }) => message.headers[HEADER.type] === 'worker.fact.status/1');
    writer.dropOldest({ before: messages[ready + 3]?.stored ?? 0, maxBytes: Number.MAX_SAFE_INTEGER });
    writer.close();
    const after = read(writer.path, fromTables).latency;
    expect(after.map(({ ms, segments }) => ({ ms, segments }))).toEqual(
      before.map(({ ms, segments }) => ({ ms, segments })),
    );
    expect(parseTime(messages[0]?.message.headers[HEADER.time] ?? '')).toBeLessThan(after[0]?.pods[0]?.firstAt ?? 0);
  });
});
