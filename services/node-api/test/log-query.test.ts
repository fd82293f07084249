// Logs of services that are requested by name: which queries are valid, and where the logs come from.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { serviceLogs } from '../src/logs/journal.ts';
import { type LogQuery, journalArguments, readLogQuery } from '../src/logs/log-query.ts';
import { ApiNode, open } from './api-node.ts';
import { get } from './client.ts';

const read = (parameters: string) => {
  const query: Record<string, string[]> = {};
  for (const [name, value] of new URLSearchParams(parameters)) query[name] = [...(query[name] ?? []), value];
  return readLogQuery(query);
};

describe('a query', () => {
  test.each<[string, Partial<LogQuery> | undefined]>([
    ['', undefined],
    ['other=1', undefined],
    ['query=kubelet', { services: ['kubelet'] }],
    ['query=kubelet&query=a@b.c:d-e_f', { services: ['kubelet', 'a@b.c:d-e_f'] }],
    ['query=/syslog', { file: '/syslog' }],
    ['query=pods\\one.log', { file: 'pods/one.log' }],
    ['query=k&tailLines=10&boot=-1&pattern=a b', { options: { tailLines: 10, boot: -1, pattern: 'a b' } }],
    [
      'query=k&sinceTime=2026-11-22T10:00:00Z&untilTime=2026-11-22T12:00:00%2B01:00',
      { options: { since: new Date('2026-11-22T10:00:00Z'), until: new Date('2026-11-22T11:00:00Z') } },
    ],
  ])('%j', (parameters, expected) => {
    if (expected === undefined) expect(read(parameters)).toBeUndefined();
    else expect(read(parameters)).toMatchObject(expected);
  });

  test.each([
    ['query=', ['query: Invalid value: [""]: query cannot be empty']],
    ['query=%20%20', ['query: Invalid value: ["  "]: query cannot be empty']],
    ['tailLines=1', ['query: Required value: cannot be empty with options']],
    ['query=k&query=/f', ['query: Invalid value: "/f, k": cannot specify a file and service']],
    ['query=/f&query=/g', ['query: Invalid value: ["/f","/g"]: cannot specify more than one file']],
    ['query=/f&boot=0', ['query: Invalid value: ["/f"]: cannot specify file with options']],
    ['query=k;reboot', ['query: Invalid value: "k;reboot": input contains unsupported characters']],
    [`query=${'k'.repeat(257)}`, [`query: Invalid value: "${'k'.repeat(257)}": length must be less than 256`]],
    ['query=a&query=b&query=c&query=d&query=e', ['query: Too many: 5: must have at most 4 items']],
    ['query=k&boot=1', ['boot: Invalid value: 1: must be less than 1']],
    ['query=k&boot=x', ['boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax']],
    ['query=k&tailLines=100001', ['tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive']],
    ['query=k&sinceTime=today', ['sinceTime: Invalid value: "today": invalid time format']],
    [
      'query=k&sinceTime=2026-11-22T10:00:00Z&untilTime=2026-11-22T09:00:00Z',
      ['untilTime: Invalid value: "2026-11-22T09:00:00.000Z": must be after `sinceTime`'],
    ],
    [
      'query=k&boot=2&tailLines=-1',
      [
        'boot: Invalid value: 2: must be less than 1',
        'tailLines: Invalid value: -1: must be between 0 and 100000, inclusive',
      ],
    ],
  ])('%j is refused', (parameters, problems) => {
    expect(read(parameters)).toEqual({ problems });
  });

  test('becomes arguments that cannot be read as another option', () => {
    const since = new Date('2026-11-22T10:00:00Z');
    expect(journalArguments(['kubelet'], { since, tailLines: 5, boot: -1, pattern: '--file=/etc/shadow' })).toEqual([
      ...['--utc', '--no-pager', '--output=short-precise', '--since=2026-11-22 10:00:00 UTC'],
      ...['--pager-end', '--lines=5', '--unit=kubelet', '--grep=--file=/etc/shadow', '--case-sensitive=false'],
      '--boot=-1',
    ]);
  });
});

describe('the logs of services', () => {
  let node: ApiNode;
  let logs: string;
  let journal: string;

  beforeAll(async () => {
    node = await ApiNode.make();
    logs = join(node.folder, 'log');
    mkdirSync(join(logs, 'web'), { recursive: true });
    writeFileSync(join(logs, 'web', 'web.log'), 'of the web\n');
    writeFileSync(join(logs, 'plain.log'), 'plain\n');
    writeFileSync(join(node.folder, 'secret'), 'nobody is to see this');
    journal = join(node.folder, 'journal');
    const units = 'if [ "$1" = --field=_SYSTEMD_UNIT ]; then echo known.service; exit; fi';
    writeFileSync(journal, `#!/bin/sh\n${units}\necho "$@"\necho warning >&2\n`, { mode: 0o755 });
    await node.start({ ...open, systemLogs: logs, systemLogQuery: true });
  });
  afterAll(() => node.remove());

  const logsOf = (services: readonly string[], options: LogQuery['options'] = {}, program = journal) =>
    textOf(serviceLogs({ services, file: undefined, options }, { program, folder: logs }));

  test('come from the journal for units that it knows', async () => {
    const text = await logsOf(['known'], { tailLines: 3 });
    expect(text).toContain('--utc --no-pager --output=short-precise --pager-end --lines=3 --unit=known\n');
    expect(text).toContain('warning\n');
  });

  test('come from files of their name otherwise', async () => {
    expect(await logsOf(['web', 'plain'])).toBe('of the web\nplain\n');
    expect(await logsOf(['web', 'none'], {}, '/nowhere/journalctl')).toBe('of the web\n\nlog not found for none\n');
    expect(await logsOf(['web'], { tailLines: 3 })).toMatch(
      'options present and query resolved to log files for [web]',
    );
  });

  test('are served when the configuration enables them', async () => {
    const ask = (path: string) => get(node.api.ports.secure, path);
    expect(await ask('/logs/?query=web')).toMatchObject({ status: 200, text: 'of the web\n' });
    expect(await ask('/logs?query=/plain.log')).toMatchObject({ status: 200, text: 'plain\n' });
    expect((await ask('/logs/?query=/../secret')).status).toBe(404);
    expect(await ask('/logs/?query=web&boot=3')).toMatchObject({
      status: 400,
      text: 'boot: Invalid value: 3: must be less than 1\n',
    });
    expect(await ask('/logs/web/?query=web')).toMatchObject({ status: 406, text: 'path not allowed in query mode\n' });
    expect((await ask('/logs/')).text).toContain('plain.log');
    await node.start({ ...open, systemLogs: logs });
    expect((await ask('/logs/?query=web')).text).toContain('plain.log');
  });
});
