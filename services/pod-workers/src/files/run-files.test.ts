import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { logFolder } from '@kubus/pod';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRunFiles } from './run-files.ts';

const pod = { namespace: 'default', name: 'web', uid: 'u1' };
let dir: string;
let folder: string;
let files: ReturnType<typeof createRunFiles>;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-pod-files-'));
  folder = join(dir, 'logs', logFolder(pod));
  files = createRunFiles({ root: join(dir, 'root'), logs: join(dir, 'logs') });
});
afterEach(() => rmSync(dir, { recursive: true }));

function log(name: string, text = ''): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

describe('logs', () => {
  test('show the newest run of each container, also by rotated files', async () => {
    expect(await files.logIndexes(pod)).toEqual(new Map());
    for (const name of ['main/0.log', 'main/11.log', 'main/12.log.20300101-000000.gz', 'other/notes.txt', 'a/x'])
      log(name);
    expect(await files.logIndexes(pod)).toEqual(new Map([['main', 12]]));
  });

  test('of a run are removed with it, except for those of the newest run', async () => {
    for (const name of ['main/0.log', 'main/0.log.20300101-000000', 'main/1.log']) log(name);
    await files.removeRun(pod, { name: 'main', attempt: 1, id: 'c1' });
    await files.removeRun(pod, { name: 'main', attempt: 0, id: 'c0' });
    expect(readdirSync(join(folder, 'main'))).toEqual(['1.log']);
  });

  test('are read from their end', async () => {
    const line = '2030-01-01T00:00:00Z stdout F x\n';
    const path = log('main/0.log', `first ${line.repeat(2_000)}`);
    const end = await files.readLogEnd(path);
    expect(end?.length).toBe(32 * 1024);
    expect(end?.endsWith(line)).toBe(true);
    expect(await files.readLogEnd(join(dir, 'nothing'))).toBeUndefined();
  });
});

describe('a termination message', () => {
  test('is writable by every user, and its last 4096 bytes are read', async () => {
    const path = await files.makeTerminationLog(pod, 'main', 3);
    expect(statSync(path).mode & 0o777).toBe(0o666);
    expect(await files.readTerminationLog(pod, { name: 'main', attempt: 3 })).toBe('');
    writeFileSync(path, `${'a'.repeat(4_000)}${'b'.repeat(4_000)}`);
    expect(await files.readTerminationLog(pod, { name: 'main', attempt: 3 })).toBe(
      `${'a'.repeat(96)}${'b'.repeat(4_000)}`,
    );
    expect(await files.readTerminationLog(pod, { name: 'main', attempt: 4 })).toBeUndefined();
  });

  test('is not emptied when its file is created again', async () => {
    writeFileSync(await files.makeTerminationLog(pod, 'main', 0), 'kept');
    await files.makeTerminationLog(pod, 'main', 0);
    expect(await files.readTerminationLog(pod, { name: 'main', attempt: 0 })).toBe('kept');
  });

  test('of another agent is read from that agent’s file, if it is among the container’s', async () => {
    const path = await files.makeTerminationLog(pod, 'main', 0);
    const terminationLog = join(dirname(path), '5c1e3196');
    writeFileSync(terminationLog, 'of another agent');
    expect(await files.readTerminationLog(pod, { name: 'main', attempt: 0, terminationLog })).toBe('of another agent');
    const foreign = { name: 'main', attempt: 0, terminationLog: '/etc/hostname' };
    expect(await files.readTerminationLog(pod, foreign)).toBe('');
  });

  test('is not read through a link to another file', async () => {
    const path = await files.makeTerminationLog(pod, 'main', 0);
    rmSync(path);
    symlinkSync('/etc/hostname', path);
    await expect(files.readTerminationLog(pod, { name: 'main', attempt: 0 })).rejects.toThrow('is not a regular file');
  });

  test('is removed with its run', async () => {
    const path = await files.makeTerminationLog(pod, 'main', 0);
    await files.removeRun(pod, { name: 'main', attempt: 0, id: 'c0' });
    expect(existsSync(path)).toBe(false);
  });
});
