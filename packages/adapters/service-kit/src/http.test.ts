import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Distribution } from '@kubus/metrics';
import { connect } from 'node:net';
import { Health } from './health.ts';
import { serveHttp } from './http.ts';
import { Metrics } from './metrics.ts';
import { addProcessMetrics } from './process-metrics.ts';

let health: Health;
let metrics: Metrics;
let served: { address: string; close: () => Promise<void> };

beforeEach(async () => {
  health = new Health();
  metrics = new Metrics({ service: 's' });
  served = await serveHttp({ health, metrics, port: 0 });
});
afterEach(() => served.close());

async function get(path: string) {
  const response = await fetch(`http://${served.address}${path}`);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

async function report(path: string) {
  const { status, text } = await get(path);
  return { status, ...(JSON.parse(text) as object) };
}

describe('health', () => {
  test('is checked at each request; readiness includes liveness, not the other way round', async () => {
    expect(await report('/readyz')).toEqual({ status: 200, ok: true, checks: {} });
    let wrong: string | undefined = 'no disk';
    let away: string | undefined = 'no runtime';
    health.live('disk', () => wrong);
    health.ready('runtime', () => away);
    expect(await report('/healthz')).toEqual({ status: 503, ok: false, checks: { disk: 'no disk' } });
    expect(await report('/readyz')).toEqual({
      status: 503,
      ok: false,
      checks: { disk: 'no disk', runtime: 'no runtime' },
    });
    wrong = undefined;
    expect(await report('/healthz')).toEqual({ status: 200, ok: true, checks: { disk: 'ok' } });
    expect(await report('/readyz')).toMatchObject({ status: 503 });
    away = undefined;
    expect(await report('/readyz')).toEqual({ status: 200, ok: true, checks: { disk: 'ok', runtime: 'ok' } });
  });

  test('a later check of the same name replaces the earlier one', async () => {
    health.ready('bus', () => 'waiting');
    health.ready('bus', () => undefined);
    expect(await report('/readyz')).toEqual({ status: 200, ok: true, checks: { bus: 'ok' } });
  });
});

test('metrics are in the Prometheus text format, with current values', async () => {
  let pods = 1;
  metrics.add({ type: 'gauge', name: 'pods', help: 'Pods.', collect: () => pods });
  metrics.add({
    type: 'counter',
    name: 'starts_total',
    help: 'Starts.',
    collect: () => [
      { value: 3, labels: { result: 'ok' } },
      { value: 0, labels: { result: 'failed' } },
    ],
  });
  const seconds = new Distribution([0.1, 1]);
  for (const value of [0.05, 0.5, 0.75, 2]) seconds.observe({ what: 'mount' }, value);
  metrics.add({ type: 'histogram', name: 'took_seconds', help: 'Times.', values: seconds });
  addProcessMetrics(metrics, '1.2.3');
  const first = await get('/metrics');
  expect(first).toMatchObject({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
  for (const line of [
    '# HELP pods Pods.',
    '# TYPE pods gauge',
    'pods{service="s"} 1',
    '# TYPE starts_total counter',
    'starts_total{result="ok",service="s"} 3',
    'starts_total{result="failed",service="s"} 0',
    '# TYPE took_seconds histogram',
    'took_seconds_bucket{what="mount",service="s",le="1"} 3',
    'took_seconds_count{what="mount",service="s"} 4',
    'kubus_build_info{version="1.2.3",service="s"} 1',
  ]) {
    expect(first.text.split('\n')).toContain(line);
  }
  const resident = Number(/^process_resident_memory_bytes\{.*\} (\S+)$/m.exec(first.text)?.[1]);
  expect(resident).toBeGreaterThan(1_000_000);
  pods = 2;
  expect((await get('/metrics')).text).toContain('pods{service="s"} 2');
  expect(JSON.parse((await get('/metrics.json')).text)).toContainEqual({
    ...{ name: 'pods', help: 'Pods.', type: 'gauge', samples: [{ labels: {}, value: 2 }] },
  });
});

test('other paths do not exist, and the first requests may be concurrent', async () => {
  const answers = await Promise.all(['/healthz', '/', '/readyz', '/healthz/x', '/metrics'].map(get));
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 404, 200]);
  const posted = await fetch(`http://${served.address}/healthz`, { method: 'POST' });
  expect(posted.status).toBe(404);
});

test('HEAD is answered as GET is, without the body', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics', '/metrics.json']) {
    const head = await fetch(`http://${served.address}${path}`, { method: 'HEAD' });
    expect([path, head.status, await head.text()]).toEqual([path, 200, '']);
  }
});

test.each(['/healthz', '/metrics'])('a body of 100 MB for %s is not read', async (path) => {
  const socket = connect(Number(served.address.split(':')[1]), '127.0.0.1');
  socket.on('error', () => undefined).resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(`POST ${path} HTTP/1.1\r\nHost: node\r\nContent-Length: 100000000\r\n\r\n`);
  const piece = Buffer.alloc(1_000_000);
  let pieces = 0;
  for (; pieces < 100 && socket.writable; pieces += 1) {
    const isFull = !socket.write(piece);
    if (isFull) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
  socket.destroy();
  await closed;
  expect(pieces).toBeLessThan(50);
});

test('the server listens on the loopback address only, until it is closed', async () => {
  expect(served.address).toMatch(/^127\.0\.0\.1:\d+$/);
  const other = await serveHttp({ health, metrics, port: 0 });
  await other.close();
  await expect(fetch(`http://${other.address}/healthz`)).rejects.toThrow();
  const [, port] = served.address.split(':');
  await expect(serveHttp({ health, metrics, port: Number(port) })).rejects.toThrow(/EADDRINUSE/);
});
