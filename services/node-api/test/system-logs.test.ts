// The machine's logs: the content of their folder, and nothing else.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiNode, open } from './api-node.ts';
import { get } from './client.ts';

let node: ApiNode;
const SECRET = 'nobody is to see this';

beforeAll(async () => {
  node = await ApiNode.make();
  const logs = join(node.folder, 'log');
  mkdirSync(join(logs, 'pods', 'one'), { recursive: true });
  mkdirSync(join(node.folder, 'log-of-others'));
  writeFileSync(join(node.folder, 'secret'), SECRET);
  writeFileSync(join(node.folder, 'log-of-others', 'secret'), SECRET);
  writeFileSync(join(logs, 'syslog'), 'one\ntwo\n');
  writeFileSync(join(logs, 'empty'), '');
  writeFileSync(join(logs, 'a<b>&: "c".log'), 'odd');
  writeFileSync(join(logs, 'pods', 'one', '0.log'), 'of a pod');
  symlinkSync('pods/one/0.log', join(logs, 'inside'));
  symlinkSync('../secret', join(logs, 'outside'));
  symlinkSync('/etc', join(logs, 'etc'));
  symlinkSync('loop', join(logs, 'loop'));
  execFileSync('mkfifo', [join(logs, 'pipe')]);
  await node.start({ ...open, systemLogs: logs });
});
afterAll(() => node.remove());

const ask = (path: string) => get(node.api.ports.secure, path);

test.each([
  ['/logs/syslog', 'one\ntwo\n'],
  ['/logs/empty', ''],
  ['/logs/pods/one/0.log', 'of a pod'],
  ['/logs/inside', 'of a pod'],
  ['/logs/pods/../syslog', 'one\ntwo\n'],
  [`/logs/${encodeURIComponent('a<b>&: "c".log')}`, 'odd'],
])('%s is a file', async (path, text) => {
  const answer = await ask(path);
  expect([answer.status, answer.text]).toEqual([200, text]);
  expect(answer.headers['content-length']).toBe(String(text.length));
  expect(answer.headers['x-content-type-options']).toBe('nosniff');
});

test('a folder is a list of links to its entries', async () => {
  const { text, headers } = await ask('/logs/');
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  const links = [...text.matchAll(/<a href="([^"]*)">([^<]*)<\/a>/g)].map(([, target, name]) => [target, name]);
  expect(links).toContainEqual(['./pods/', 'pods/']);
  expect(links).toContainEqual(['./a%3Cb%3E%26%3A%20%22c%22.log', 'a&#60;b&#62;&#38;: &#34;c&#34;.log']);
  for (const [path, target] of [
    ['/logs', 'logs/'],
    ['/logs/pods', 'pods/'],
  ] as const) {
    const answer = await ask(path);
    expect([answer.status, answer.headers.location]).toEqual([301, target]);
  }
});

describe('nothing outside of the folder is found', () => {
  test.each([
    ...['/logs/outside', '/logs/etc/passwd', '/logs/etc/', '/logs/loop', '/logs/pipe', '/logs/none', '/logs/syslog/x'],
    ...['/logs/../secret', '/logs/%2e%2e/secret', '/logs/..%2fsecret', '/logs/%2e%2e%2fsecret', '/logs/..\\secret'],
    ...['/logs/%252e%252e/secret', '/logs/pods/../../secret', '/logs//etc/passwd', '/logs/%2fetc%2fpasswd'],
    ...['/logs/../log-of-others/secret', '/logs/%00', '/logs/syslog%00', '/logs/%EF%BC%8E%EF%BC%8E/secret'],
    ...['/logs/%c0%ae%c0%ae/secret', '/logs/pods/....//....//secret', `/logs/${'a'.repeat(5_000)}`],
  ])('%s', async (path) => {
    const { status, text } = await ask(path);
    expect([400, 404]).toContain(status);
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain('root:');
  });
});

test('all files are closed', async () => {
  for (const path of ['/logs/syslog', '/logs/empty', '/logs/', '/logs/outside', '/logs/pipe']) await ask(path);
  const descriptors = readdirSync('/proc/self/fd');
  for (let round = 0; round < 20; round += 1) {
    for (const path of ['/logs/syslog', '/logs/empty', '/logs/', '/logs/outside', '/logs/pipe']) await ask(path);
  }
  expect(readdirSync('/proc/self/fd').length).toBeLessThan(descriptors.length + 20);
});

test('system logs are disabled without a folder', async () => {
  await node.start(open);
  for (const path of ['/logs', '/logs/', '/logs/syslog']) {
    expect(await ask(path)).toMatchObject({ status: 405, text: 'logs endpoint is disabled.\n' });
  }
});
