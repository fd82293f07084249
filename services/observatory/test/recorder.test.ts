import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { RecordingReader } from '@kubus/recording';
import { type NodeRecordings, Threads } from '../src/index.ts';
import { message, numbers, openRecordings } from './recorded-node.ts';

let folder: string;
let recordings: NodeRecordings;
const threads = new Threads();
afterAll(() => threads.close());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-observatory-'));
  recordings = openRecordings(folder, threads);
});
afterEach(async () => {
  recordings.close();
  await rm(folder, { recursive: true });
});

const complete = { droppedByBroker: 0, neverStored: 0, unreadable: 0 };
const state = (last: number, created = 'then', first = 1) => ({ created, first, last });
const recorded = (name = '~live') => {
  const reader = new RecordingReader(recordings.path(name));
  const messages = [...reader.all()];
  reader.close();
  return messages;
};
const say = (from: number, to: number) => recordings.recorder.take(numbers(from, to).map((number) => message(number)));

describe('the live recording', () => {
  test('continues where the previous process ended, without duplicates', async () => {
    expect(recordings.recorder.begin(state(0))).toBe(1);
    say(1, 300);
    recordings.close();
    recordings = openRecordings(folder, threads);
    const from = recordings.recorder.begin(state(320));
    expect(from).toBeLessThanOrEqual(301);
    say(from, 320);
    expect(recorded().map(({ seq }) => seq)).toEqual(numbers(1, 320));
    expect(await recordings.document('~live')).toMatchObject({ state: 'live', messages: 320, completeness: complete });
  });

  test('counts messages that the broker dropped meanwhile', async () => {
    recordings.recorder.begin(state(0));
    say(1, 10);
    expect(recordings.recorder.begin(state(50, 'then', 31))).toBe(31);
    say(31, 50);
    expect((await recordings.document('~live')).completeness).toEqual({
      ...complete,
      droppedByBroker: 20,
      neverStored: 20,
    });
  });

  test('continues with another record of the broker, and counts one message as dropped', async () => {
    recordings.recorder.begin(state(0));
    say(1, 10);
    expect(recordings.recorder.begin(state(5, 'later'))).toBe(1);
    recordings.recorder.take(numbers(11, 15).map((number) => message(number, { seq: number - 10 })));
    expect(recorded().map(({ seq }) => seq)).toEqual([...numbers(1, 10), ...numbers(12, 16)]);
    expect((await recordings.document('~live')).completeness).toEqual({ ...complete, droppedByBroker: 1 });
    recordings.close();
    recordings = openRecordings(folder, threads);
    expect(recordings.recorder.begin(state(5, 'later'))).toBe(1);
    recordings.recorder.take(numbers(11, 16).map((number) => message(number, { seq: number - 10 })));
    expect(recorded().at(-1)?.seq).toBe(17);
    expect(await recordings.document('~live')).toMatchObject({ messages: 16 });
  });

  test('notices by the last sequence that the broker has lost the end of its record', async () => {
    recordings.recorder.begin(state(0));
    say(1, 10);
    expect(recordings.recorder.begin(state(8))).toBe(9);
    recordings.recorder.take([message(11, { seq: 9 }), message(12, { seq: 10 })]);
    expect(recorded().map(({ seq }) => seq)).toEqual([...numbers(1, 10), 12, 13]);
    expect((await recordings.document('~live')).completeness).toEqual({ ...complete, droppedByBroker: 1 });
  });

  test('notices that by different messages under known sequences', async () => {
    recordings.recorder.begin(state(0));
    say(1, 10);
    const from = recordings.recorder.begin(state(12));
    const before = numbers(from, 8).map((number) => message(number));
    recordings.recorder.take([...before, ...numbers(9, 12).map((seq) => message(seq + 2, { seq }))]);
    expect(recorded().map(({ message: { data } }) => data)).toEqual(numbers(1, 14).map((n) => `{"number":${n}}`));
    expect((await recordings.document('~live')).completeness).toEqual({ ...complete, droppedByBroker: 1 });
  });

  test('is put aside when it cannot be read', async () => {
    recordings.close();
    await writeFile(join(folder, 'state/live.kubus'), 'hello');
    recordings = openRecordings(folder, threads);
    recordings.recorder.begin(state(0));
    say(1, 3);
    expect(recorded()).toHaveLength(3);
  });
});

describe('a recording', () => {
  test('has the messages between its start and its end, also over a restart of the service', async () => {
    recordings.recorder.begin(state(0));
    say(1, 5);
    expect(await recordings.start('one')).toMatchObject({
      name: 'one',
      node: 'node0',
      state: 'recording',
      messages: 0,
    });
    say(6, 8);
    recordings.close();
    recordings = openRecordings(folder, threads);
    const from = recordings.recorder.begin(state(10));
    say(from, 10);
    expect(await recordings.document('one')).toMatchObject({ state: 'recording', messages: 5, completeness: complete });
    expect(await recordings.stop('one')).toMatchObject({ state: 'complete', messages: 5, completeness: complete });
    say(11, 12);
    expect(recorded('one').map(({ seq }) => seq)).toEqual(numbers(6, 10));
    expect((await recordings.list()).map(({ name }) => name)).toEqual(['~live', 'one']);
    await expect(recordings.stop('one')).rejects.toThrow('has ended already');
    recordings.remove('one');
    expect((await recordings.list()).map(({ name }) => name)).toEqual(['~live']);
  });

  test('that starts before the first message has all of them', async () => {
    await recordings.start('one');
    recordings.recorder.begin(state(3));
    say(1, 3);
    expect(await recordings.stop('one')).toMatchObject({ messages: 3, completeness: complete });
  });

  test('ends at its size limit, while the live one continues', async () => {
    recordings.close();
    recordings = openRecordings(folder, threads, { recordingBytes: 1 });
    recordings.recorder.begin(state(0));
    await recordings.start('one');
    say(1, 3);
    say(4, 5);
    expect(await recordings.document('one')).toMatchObject({ state: 'complete', messages: 3 });
    expect(await recordings.document('~live')).toMatchObject({ messages: 5 });
  });

  test.each(['~live', '../x', 'a/b', '', '.hidden'])('cannot be named %s', (name) => {
    expect(() => recordings.start(name)).toThrow(name === '~live' ? 'already' : 'must be 1 to 63');
  });

  test('is exported as a file and imported under another name', async () => {
    recordings.recorder.begin(state(0));
    await recordings.start('one');
    say(1, 4);
    for (const name of ['one', '~live']) {
      const file = await buffer(await recordings.file(name));
      const taken = await recordings.take(`copy-${name.replace('~', '')}`, Readable.from([file]));
      expect(taken).toMatchObject({ state: 'imported', messages: 4, completeness: complete });
    }
    expect(await recordings.stop('one')).toMatchObject({ messages: 4 });
    expect((await buffer(await recordings.file('one'))).length).toBeGreaterThan(0);
    await expect(recordings.take('bad', Readable.from([Buffer.from('hello')]))).rejects.toThrow(
      'the file: is not a recording',
    );
    await expect(recordings.take('one', Readable.from([]))).rejects.toThrow('already');
    recordings.close();
    recordings = openRecordings(folder, threads, { recordingBytes: 10 });
    await expect(recordings.take('large', Readable.from([Buffer.alloc(11)]))).rejects.toThrow('more than 10 bytes');
  });
});
