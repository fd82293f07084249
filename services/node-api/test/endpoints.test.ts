import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { freePort } from '@kubus/launcher';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiNode, open, podNamed, runOf } from './api-node.ts';
import { get } from './client.ts';

let node: ApiNode;

beforeAll(async () => {
  node = await ApiNode.make();
});
afterAll(() => node.remove());

const ask = (path: string, method = 'GET') => get(node.api.ports.secure, path, { method });

describe('the main server', () => {
  const web = podNamed('web', { 'kubernetes.io/config.source': 'api' });
  const file = podNamed('file-node0', { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h' });
  const mirror = { ...podNamed('file-node0', { 'kubernetes.io/config.mirror': 'h' }) };

  beforeAll(async () => {
    node.want('api', web);
    node.want('api', { ...mirror, metadata: { ...mirror.metadata, uid: 'mirror' } });
    node.want('file', file);
    node.status(file, { phase: 'Running' });
    node.runs(web, [runOf('a', ''), runOf('b', '', 'exited')]);
    const configz = join(node.folder, 'configz.json');
    await writeFile(configz, '{"kubeletconfig":{"kind":"KubeletConfiguration"}}');
    await node.start({ ...open, configz, readOnlyPort: 0 });
  });

  test.each(['/pods', '/pods/'])('%s lists every pod with its current status, without mirror pods', async (path) => {
    const { status, text, headers } = await ask(path);
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch('application/json');
    expect(JSON.parse(text)).toEqual({
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: [
        { metadata: file.metadata, spec: file.spec, status: { phase: 'Running' } },
        { metadata: web.metadata, spec: web.spec, status: {} },
      ],
    });
  });

  test('/runningpods/ lists what runs', async () => {
    expect(JSON.parse((await ask('/runningpods/')).text)).toMatchObject({
      items: [{ metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'sha256:abc' }] } }],
    });
  });

  test('/configz returns the file', async () => {
    const { status, text, headers } = await ask('/configz');
    expect({ status, text }).toEqual({ status: 200, text: '{"kubeletconfig":{"kind":"KubeletConfiguration"}}' });
    expect(headers['content-type']).toMatch('application/json');
  });

  test.each([
    ['GET', '/', 404, '404 page not found\n'],
    ['GET', '/podsx', 404, '404 page not found\n'],
    ['POST', '/exec/default/web', 404, '404 page not found\n'],
    ['GET', '/containerLogs/default/web', 404, '404 page not found\n'],
    ['POST', '/pods', 405, '405: Method Not Allowed'],
    ['PUT', '/containerLogs/default/web/main', 405, '405: Method Not Allowed'],
  ])('%s %s is %d', async (method, path, status, text) => {
    expect(await ask(path, method)).toMatchObject({ status, text });
  });
});

describe('server options', () => {
  test('the read-only port serves only what needs no authentication', async () => {
    // Port 0, any free port, is not allowed in a configuration; here 0 means no port.
    const port = await freePort();
    const { readOnly = 0 } = (await node.start({ ...open, readOnlyPort: port })).ports;
    const read = (path: string) => get(readOnly, path, { plain: true });
    expect(readOnly).toBe(port);
    expect((await read('/pods')).status).toBe(200);
    expect((await read('/healthz/ping')).text).toBe('ok');
    expect(await read('/containerLogs/default/web/main')).toMatchObject({
      status: 405,
      text: 'Debug endpoints are disabled.\n',
    });
    expect((await read('/configz')).status).toBe(404);
  });

  test('the read-only port serves the paths of the reference’s and no other, by whatever method', async () => {
    node.streamingUrl = 'http://127.0.0.1:1/exec/token';
    const { readOnly = 0 } = (await node.start({ ...open, readOnlyPort: await freePort() })).ports;
    const { asked } = node;
    asked.length = 0;
    const statuses = async (paths: string[], methods: string[]) => {
      const all = paths.flatMap((path) => methods.map((method) => ({ path, method })));
      const answers = all.map(({ path, method }) => get(readOnly, path, { plain: true, method }));
      return new Set((await Promise.all(answers)).map(({ status }) => status));
    };
    const metrics = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes', '/metrics/slis'];
    const served = ['/healthz/ping', '/pods', '/stats/summary', ...metrics];
    expect(await statuses(served, ['GET', 'HEAD'])).toEqual(new Set([200]));
    expect(await statuses(served, ['POST', 'PUT', 'DELETE', 'PATCH'])).toEqual(new Set([405]));
    const container = 'default/web/main';
    const debugging = ['run', 'exec', 'attach', 'containerLogs'].map((path) => `/${path}/${container}?cmd=id&output=1`);
    const more = ['/portForward/default/web', '/runningpods', '/logs/syslog', '/debug/pprof/cmdline'];
    expect(await statuses([...debugging, ...more], ['GET', 'POST', 'PUT'])).toEqual(new Set([405]));
    const none = ['/', '/configz', '/statusz', '/flagz', `/checkpoint/${container}`, '/debug/flags/v', '/pods/web'];
    expect(await statuses(none, ['GET', 'POST', 'PUT'])).toEqual(new Set([404]));
    const upgraded = await get(readOnly, `/exec/${container}?command=id&output=1`, {
      plain: true,
      upgrade: 'SPDY/3.1',
    });
    expect(upgraded.status).toBe(405);
    expect(asked).toEqual([]);
  });

  test('disabled debugging handlers answer that they are disabled', async () => {
    await node.start({ ...open, debuggingHandlers: false, configz: join(node.folder, 'configz.json') });
    for (const path of ['/containerLogs/default/web/main', '/runningpods/', '/exec/a/b/c', '/logs/', '/run/x']) {
      expect(await ask(path, 'POST')).toMatchObject({ status: 405, text: 'Debug endpoints are disabled.\n' });
    }
    expect((await ask('/configz')).status).toBe(404);
    expect((await ask('/pods')).status).toBe(200);
  });
});

describe('health', () => {
  const failed = '[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n';

  test('is that of the sync loop, in the texts of the reference', async () => {
    await node.start(open);
    expect(await ask('/healthz')).toMatchObject({ status: 500, text: failed });
    expect(await ask('/healthz/syncloop')).toMatchObject({
      status: 500,
      text: 'internal server error: no sync-loop has published its pods yet\n',
    });
    expect(await ask('/healthz?exclude=syncloop')).toMatchObject({ status: 200, text: 'ok' });

    await node.startSyncLoop();
    await poll('the node is healthy', async () => (await ask('/healthz')).status === 200 || undefined);
    expect((await ask('/healthz?verbose')).text).toBe('[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n');
    expect((await ask('/healthz?verbose&exclude=log&exclude=x')).text).toBe(
      '[+]ping ok\n[+]log excluded: ok\n[+]syncloop ok\n' +
        'warn: some health checks cannot be excluded: no matches for "x"\nhealthz check passed\n',
    );
    for (const check of ['ping', 'log', 'syncloop']) expect((await ask(`/healthz/${check}`)).text).toBe('ok');
    const { healthz = 0 } = node.api.ports;
    expect(await get(healthz, '/healthz', { plain: true })).toMatchObject({ status: 200, text: 'ok' });
    expect((await get(healthz, '/pods', { plain: true })).status).toBe(404);

    node.syncLoopStatus = 503;
    expect(await ask('/healthz/syncloop')).toMatchObject({
      text: 'internal server error: sync-loop is unhealthy: it answers 503\n',
    });
    await node.killSyncLoop();
    expect((await ask('/healthz/syncloop')).text).toMatch('sync-loop does not answer: connect ECONNREFUSED');
    expect(await ask('/healthz')).toMatchObject({ status: 500, text: failed });
  });

  test('fails without a connection to the bus', async () => {
    await node.killNats();
    await poll('the loss of the bus is noticed', async () => {
      const { text } = await ask('/healthz/syncloop');
      return text === 'internal server error: there is no connection to the bus\n' || undefined;
    });
  });
});
