import { describe, expect, test } from '@jest/globals';
import { serviceContracts } from '@kubus/contracts';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RecordingReader, exportRecording, importRecording } from '../src/index.ts';
import { EPOCH, made } from './made-messages.ts';
import { podLives } from './pod-lives.ts';
import { complete, create, folder, read } from './recording-folder.ts';

describe('a recording exported to a file', () => {
  const exported = () => {
    const writer = create();
    writer.append([made({ seq: 1, number: 1, pod: 'u1' }), made({ seq: 2, number: 3 })]);
    const file = join(folder, 'out.kubus');
    exportRecording(writer.path, file, { name: 'out', at: EPOCH + 7 });
    return { writer, file };
  };

  test('is complete while the recording continues, and can be imported', () => {
    const { writer, file } = exported();
    writer.append([made({ seq: 3, number: 4 })]);
    const out = { name: 'out', state: 'complete', ended: EPOCH + 7, messages: 2 };
    expect(read(file, (reader) => reader.document())).toMatchObject(out);
    expect(readdirSync(folder).filter((name) => name.startsWith('out'))).toEqual(['out.kubus']);
    const place = join(folder, 'in.kubus');
    importRecording(file, place, { name: 'in' });
    const taken = { name: 'in', state: 'imported', node: 'node0', messages: 2 };
    expect(read(place, (reader) => reader.document())).toMatchObject({
      ...taken,
      completeness: { ...complete, neverStored: 1 },
    });
    writer.close();
  });

  test('of the first version is converted, with all data', () => {
    const writer = create();
    writer.append([...podLives({ pods: 2, parallel: 2, between: 3 })]);
    writer.close();
    const ask = (reader: RecordingReader) => ({
      ...{ starts: [...reader.paths('start')], map: reader.serviceMap(serviceContracts), pods: reader.pods() },
      ...{ messages: [...reader.all()], completeness: reader.completeness() },
    });
    const own = read(writer.path, ask);
    const file = join(folder, 'old.kubus');
    exportRecording(writer.path, file, { name: 'old', at: EPOCH });
    for (const table of ['said', 'hearings', 'bus', 'steps', 'paths']) change(file, `DROP TABLE ${table}`);
    change(file, 'ALTER TABLE speakers DROP COLUMN since; PRAGMA user_version = 1');
    expect(() => new RecordingReader(file)).toThrow('is a recording of version 1');
    const place = join(folder, 'in.kubus');
    importRecording(file, place, { name: 'in' });
    expect(read(place, ask)).toEqual(own);
    expect(read(place, (reader) => reader.meta)).toMatchObject({ name: 'in', state: 'imported', ended: EPOCH });
    expect(readdirSync(folder).filter((name) => /^(old|in)/.test(name))).toEqual(['in.kubus']);
  });

  test.each([
    ['a text', (path: string) => writeFileSync(path, 'hello'), 'is not a recording'],
    ['an empty file', (path: string) => writeFileSync(path, ''), 'is not a recording'],
    ['another database', (path: string) => change(path, 'PRAGMA application_id = 7'), 'is not a recording'],
    ['a later version', (path: string) => change(path, 'PRAGMA user_version = 9'), 'is a recording of version 9'],
    [
      'one with a trigger',
      (path: string) => change(path, 'CREATE TRIGGER t AFTER UPDATE ON meta BEGIN DELETE FROM pods; END'),
      'has other tables',
    ],
    ['invalid headers', (path: string) => change(path, "UPDATE bodies SET headers = 'x'"), 'headers'],
    ['a message without a body', (path: string) => change(path, 'DELETE FROM bodies WHERE seq = 1'), 'have no body'],
    ['an invalid path', (path: string) => change(path, "INSERT INTO paths VALUES (1, 'start', 1, 'x')"), 'paths'],
    ['a page of another kind', (path: string) => spoilPage(path), 'is damaged'],
    ['no name', (path: string) => change(path, "DELETE FROM meta WHERE key = 'name'"), 'has no name'],
  ])('%s is refused by name and leaves nothing behind', (_what, spoil, message) => {
    const { writer, file } = exported();
    writer.close();
    spoil(file);
    const place = join(folder, 'in.kubus');
    expect(() => importRecording(file, place, { name: 'in' })).toThrow(message);
    expect(() => importRecording(file, place, { name: 'in' })).toThrow(file);
    expect(readdirSync(folder).filter((name) => !name.startsWith('one'))).toEqual([]);
  });

  test('a failed export leaves nothing behind', () => {
    const { writer } = exported();
    expect(() => exportRecording(writer.path, join(folder, 'no', 'x'), { name: 'x', at: 0 })).toThrow(join('no', 'x'));
    writer.close();
    expect(() => new RecordingReader(join(folder, 'none'))).toThrow('does not exist');
    expect(() => create()).toThrow('already exists');
  });
});

/** The third page is the first one of a table: SQLite's own check of the whole file fails with an error. */
function spoilPage(path: string): void {
  const bytes = readFileSync(path);
  bytes[2 * 4096] = 5;
  writeFileSync(path, bytes);
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path, { defensive: false });
  database.exec(sql);
  database.close();
}
