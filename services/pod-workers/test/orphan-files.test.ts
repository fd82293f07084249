import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mount, mountsBelow, unmount } from '@kubus/filesystem';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OrphanFiles } from '../src/cleanup/orphan-files.ts';

let dir: string;
let clock: ManualClock;
let known: Set<string> | undefined;
let orphans: OrphanFiles;
/** The events of the node. */
let events: string[];

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-orphans-')));
  clock = new ManualClock(Date.now() + 3_600_000);
  known = new Set(['known']);
  const mayExist = (uid: string) => known === undefined || known.has(uid);
  const folders = { root: join(dir, 'root'), logs: join(dir, 'logs'), logLinks: join(dir, 'links') };
  events = [];
  const report = ({ type, reason, message }: { type: string; reason: string; message: string }) => {
    events.push(`${type} ${reason}: ${message}`);
  };
  orphans = new OrphanFiles({ ...folders, report, clock, logger: silentLogger, mayExist });
});
afterEach(async () => {
  orphans.stop();
  for (const { target } of await mountsBelow(dir)) await unmount(target);
  rmSync(dir, { recursive: true });
});

/** Creates files. */
function make(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), '');
  }
}

const log = (uid: string) => `logs/default_web_${uid}/main/0.log`;
const namesIn = (path: string) => readdirSync(join(dir, path)).sort();

test('files of unknown pods are removed, but not before all pods are known', async () => {
  make(log('known'), log('gone'), 'root/pods/known/etc-hosts', 'root/pods/gone/containers/main/0', 'logs/notes/x');
  const all = known;
  known = undefined;
  await orphans.look();
  expect(namesIn('logs')).toHaveLength(3);
  known = all;
  await orphans.look();
  expect([namesIn('logs'), namesIn('root/pods')]).toEqual([['default_web_known', 'notes'], ['known']]);
});

test('recently changed files stay, since a pod may have just started with them', async () => {
  make(log('gone'));
  const now = clock.now() / 1_000;
  utimesSync(dirname(join(dir, log('gone'))), now, now);
  await orphans.look();
  expect(existsSync(join(dir, log('gone')))).toBe(true);
  await clock.advance(60_000);
  await orphans.look();
  expect(namesIn('logs')).toEqual([]);
});

test('volumes and the content of mounts are not removed', async () => {
  make('root/pods/volumes/volumes/kept/file', 'root/pods/mounted/x', 'outside/file');
  mkdirSync(join(dir, 'root/pods/mounted/inside'));
  await mount({ type: 'tmpfs', source: 'tmpfs', target: join(dir, 'root/pods/mounted/inside'), options: [] });
  make('root/pods/mounted/inside/file');
  await orphans.look();
  expect(namesIn('root/pods')).toEqual(['mounted', 'volumes']);
  expect(namesIn('root/pods/mounted/inside')).toEqual(['file']);
  expect(namesIn('root/pods/volumes/volumes')).toEqual(['kept']);
});

test('broken links to logs are removed with their pod; others stay', async () => {
  make(log('known'));
  mkdirSync(join(dir, 'links'));
  const link = (name: string, target: string) => symlinkSync(join(dir, target), join(dir, 'links', name));
  link('there.log', log('known'));
  // It is being rotated.
  link('rotating.log', 'logs/default_web_known/main/1.log');
  link('dead.log', log('gone'));
  link('foreign.log', 'elsewhere/default_web_gone/main/0.log');
  make('links/file.log');
  await orphans.look();
  expect(namesIn('links')).toEqual(['file.log', 'foreign.log', 'rotating.log', 'there.log']);
});

test('a folder of logs that cannot be read is an event each time', async () => {
  symlinkSync('logs', join(dir, 'logs'));
  await orphans.look();
  await orphans.look();
  const text = `Warning ContainerGCFailed: failed to read podLogsDirectory "${join(dir, 'logs')}": ELOOP`;
  expect(events).toEqual([expect.stringContaining(text), expect.stringContaining(text)]);
});

test('it checks some time after its start, and not after it has stopped', () => {
  expect(clock.waits).toEqual([10_000]);
  orphans.stop();
  expect(clock.waits).toEqual([]);
});
