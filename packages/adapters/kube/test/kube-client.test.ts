import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Clock, silentLogger } from '@kubus/ports';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { KubeClient, type KubeRequest } from '../src/kube-client.ts';
import type { MetricsSink } from '../src/rest-client-metrics.ts';
import { ScriptedServer, json, refusal, reset } from './scripted-server.ts';

/** The machine's clock with delays that end at once and are recorded. */
function impatientClock(): Clock & { waits: number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: () => performance.now(),
    after: (ms, action) => {
      if (ms > 5_000) {
        const timer = setTimeout(action, ms).unref();
        return () => clearTimeout(timer);
      }
      waits.push(ms);
      const timer = setImmediate(action);
      return () => clearImmediate(timer);
    },
  };
}

const get: KubeRequest = { method: 'GET', path: '/api/v1/namespaces/default/pods/web' };
let dir: string;
let server: ScriptedServer;
let client: KubeClient;
let clock: ReturnType<typeof impatientClock>;
let metrics: Parameters<MetricsSink['add']>[0][];

async function writeKubeconfig(path: string, port: number, user: Record<string, unknown>): Promise<void> {
  const document = {
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}/base/`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await writeFile(path, JSON.stringify(document));
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-kube-'));
  server = new ScriptedServer();
  clock = impatientClock();
  await writeFile(join(dir, 'token'), 'first\n');
  const kubeconfig = join(dir, 'kubeconfig');
  await writeKubeconfig(kubeconfig, await server.listen(), { tokenFile: 'token' });
  metrics = [];
  const sink = { add: (one: (typeof metrics)[number]) => void metrics.push(one) };
  client = await KubeClient.open({ kubeconfig, userAgent: 'kubus-test', clock, logger: silentLogger, metrics: sink });
});

afterEach(async () => {
  await client.close();
  await server.close();
  await rm(dir, { recursive: true });
});

describe('a request', () => {
  test('is sent as its user, and returns the parsed response', async () => {
    server.answer(json(200, { kind: 'Pod' }));
    const query = { dryRun: 'All', force: true, none: undefined };
    const body = [{ op: 'test' }];
    expect(await client.request({ ...get, method: 'PATCH', patch: 'json', query, body })).toEqual({ kind: 'Pod' });
    const [seen] = server.seen;
    expect(seen).toMatchObject({
      method: 'PATCH',
      url: '/base/api/v1/namespaces/default/pods/web?dryRun=All&force=true',
      body: '[{"op":"test"}]',
      headers: {
        authorization: 'Bearer first',
        'content-type': 'application/json-patch+json',
        'user-agent': 'kubus-test',
      },
    });
  });

  test('is counted by result, with the sizes of request and response', async () => {
    server.answer(json(200, { kind: 'Pod' }), refusal(404, 'NotFound'));
    await client.request({ ...get, method: 'POST', body: 'x'.repeat(98) });
    await expect(client.request(get)).rejects.toThrow('NotFound');
    const shown = metrics.map((one) => {
      const found = one.type === 'counter' ? one.collect() : one.values.series;
      return [one.name, found.map(({ labels: { host, ...labels } }) => ({ host, ...labels }))] as const;
    });
    const host = expect.stringMatching(/^127\.0\.0\.1:\d+$/) as unknown;
    expect(Object.fromEntries(shown)).toMatchObject({
      rest_client_requests_total: [
        { host, code: '200', method: 'POST' },
        { host, code: '404', method: 'GET' },
      ],
      rest_client_request_duration_seconds: [
        { host, verb: 'POST' },
        { host, verb: 'GET' },
      ],
      rest_client_response_size_bytes: [{ host, verb: 'POST' }],
    });
    const sizes = metrics.find(({ name }) => name === 'rest_client_request_size_bytes');
    expect(sizes?.type === 'histogram' && sizes.values.series.map(({ sum }) => sum)).toEqual([100, 0]);
  });

  test('reuses its connection', async () => {
    server.answer(json(200, {}), json(200, {}), json(200, {}));
    for (let i = 0; i < 3; i++) await client.request(get);
    expect(server.sockets.size).toBe(1);
  });

  test('that is refused fails with the cause, without credentials', async () => {
    server.answer(refusal(404, 'NotFound'));
    const error: unknown = await client.request(get).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'Rejected',
      status: 404,
      reason: 'NotFound',
      message: 'GET /api/v1/namespaces/default/pods/web: 404 NotFound: no: NotFound',
    });
    expect(JSON.stringify(error)).not.toContain('first');
  });

  test('that is refused keeps the server’s message separately', async () => {
    server.answer(refusal(403, 'Forbidden'));
    await expect(client.request(get)).rejects.toMatchObject({ said: 'no: Forbidden' });
  });

  test.each(['a request', 'a watch'])('%s shows nothing of a response that is not JSON', async (what) => {
    server.answer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"k":s3cret}\n');
    });
    const watch = { path: get.path, signal: new AbortController().signal, event: () => undefined };
    const asked = what === 'a watch' ? client.watch(watch) : client.request(get);
    const error: unknown = await asked.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'Unreachable' });
    expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
  });

  test('is repeated once after a 401 if the credentials have changed', async () => {
    await writeFile(join(dir, 'token'), 'second');
    server.answer(
      refusal(401, 'Unauthorized'),
      json(200, 1),
      refusal(401, 'Unauthorized'),
      refusal(401, 'Unauthorized'),
    );
    expect(await client.request(get)).toBe(1);
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
    await expect(client.request(get)).rejects.toMatchObject({ status: 401 });
  });

  test('waits if the server demands it, within its time limit', async () => {
    const busy = refusal(429, 'TooManyRequests', { 'Retry-After': '3' });
    server.answer(busy, refusal(503, 'ServiceUnavailable', { 'Retry-After': '2' }), json(200, 1));
    expect(await client.request({ ...get, method: 'POST', body: {} })).toBe(1);
    expect(clock.waits).toEqual([3_000, 2_000]);
    server.answer(refusal(429, 'TooManyRequests', { 'Retry-After': '30' }));
    await expect(client.request({ ...get, timeoutMs: 30_000 })).rejects.toMatchObject({ retryAfterMs: 30_000 });
    expect(server.seen).toHaveLength(4);
  });

  test('is sent again after a broken connection only if it is a read', async () => {
    server.answer(reset, reset, json(200, 1), reset);
    expect(await client.request(get)).toBe(1);
    await expect(client.request({ ...get, method: 'POST', body: {} })).rejects.toMatchObject({ code: 'Unreachable' });
    expect(server.seen).toHaveLength(4);
  });

  test('ends at its time limit, with its signal and with its client', async () => {
    const silent = () => undefined;
    server.answer(silent, silent, silent);
    await expect(client.request({ ...get, timeoutMs: 20 })).rejects.toMatchObject({
      message: expect.stringContaining('no answer within 20 ms'),
    });
    const abort = new AbortController();
    const aborted = client.request({ ...get, signal: abort.signal });
    abort.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'Unreachable' });
    const open = client.request(get);
    await client.close();
    await expect(open).rejects.toMatchObject({ code: 'Unreachable' });
  });
});

describe('a watch', () => {
  const path = '/api/v1/pods';
  const never = new AbortController().signal;

  test('reports each event, however the stream is split, and ends when the server ends it', async () => {
    const text = ['{"type":"ADDED","object":"ä"}', '{"type":"DELETED"}'].map((line) => `${line}\n`).join('');
    const bytes = Buffer.from(text);
    server.answer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end();
    });
    const events: unknown[] = [];
    await client.watch({ path, query: { resourceVersion: '5' }, signal: never, event: (event) => events.push(event) });
    expect(events).toEqual([{ type: 'ADDED', object: 'ä' }, { type: 'DELETED' }]);
    expect(server.seen[0]?.url).toBe('/base/api/v1/pods?resourceVersion=5&watch=true');
  });

  test('that is refused, breaks or is cancelled fails accordingly', async () => {
    const begin = (end: (socket: { destroy(): void }) => void) =>
      server.answer((request, response) => {
        response.writeHead(200);
        response.write('{"type":"ADDED"}\n');
        setImmediate(() => end(request.socket));
      });
    server.answer(refusal(410, 'Expired'));
    await expect(client.watch({ path, signal: never, event: () => undefined })).rejects.toMatchObject({
      reason: 'Expired',
    });
    begin((socket) => socket.destroy());
    await expect(client.watch({ path, signal: never, event: () => undefined })).rejects.toMatchObject({
      code: 'Unreachable',
    });
    begin(() => undefined);
    const abort = new AbortController();
    const watched = client.watch({ path, signal: abort.signal, event: () => abort.abort() });
    await expect(watched).rejects.toMatchObject({ code: 'Unreachable' });
    for (const socket of server.sockets) await once(socket, 'close');
  });
});

test('requests are rate limited, leases are not', async () => {
  const kubeconfig = join(dir, 'kubeconfig');
  const slow = await KubeClient.open({
    kubeconfig,
    userAgent: 'kubus-test',
    rate: { qps: 0.5, burst: 1 },
    clock,
    logger: silentLogger,
  });
  server.answer(json(200, 1), json(200, 2), json(200, 3));
  await slow.request(get);
  await slow.request({ ...get, unlimited: true });
  expect(clock.waits).toEqual([]);
  await slow.request(get);
  expect(clock.waits.map((ms) => Math.round(ms / 1000))).toEqual([2]);
  await slow.close();
});

test('the client opens once there is a readable kubeconfig', async () => {
  const kubeconfig = join(dir, 'later');
  const port = await server.listen();
  const steps = [
    () => writeFile(kubeconfig, 'clusters: ['),
    () => writeFile(kubeconfig, '{"clusters": []}'),
    () => writeKubeconfig(kubeconfig, port, { tokenFile: 'token' }),
  ];
  const stepByStep: Clock = {
    now: () => clock.now(),
    after: (ms, action) => {
      if (ms === 1_000) void steps.shift()?.().then(action);
      return () => undefined;
    },
  };
  const late = await KubeClient.open({ kubeconfig, userAgent: 'kubus-test', clock: stepByStep, logger: silentLogger });
  expect(steps).toEqual([]);
  server.answer(json(200, 1));
  expect(await late.request(get)).toBe(1);
  await late.close();
  const signal = AbortSignal.abort();
  const never = { kubeconfig: join(dir, 'none'), userAgent: 'kubus-test', clock, logger: silentLogger, signal };
  await expect(KubeClient.open(never)).rejects.toMatchObject({ code: 'Unreachable' });
});
