import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LatencyDocument, LiveTick, RecordingDocument } from '@kubus/contracts/observatory';
import { silentLogger } from '@kubus/ports';
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { servePrivately, systemIds } from '@kubus/service-kit';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FileRecordings, type NodeRecordings, Threads, createApp } from '../src/index.ts';
import { message, numbers, openRecordings } from './recorded-node.ts';

let folder: string;
let recordings: NodeRecordings;
let app: FastifyInstance;
const threads = new Threads();
afterAll(() => threads.close());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-observatory-'));
  recordings = openRecordings(folder, threads);
  recordings.recorder.begin({ created: 'then', first: 1, last: 0 });
  recordings.recorder.take(numbers(1, 6).map((number) => message(number, number > 2 ? { pod: 'u1' } : {})));
  app = await createApp({ recordings, threads, version: '1.0.0', ids: systemIds, logger: silentLogger });
});
afterEach(async () => {
  await app.close();
  recordings.close();
  await rm(folder, { recursive: true });
});

async function get(url: string, from = app): Promise<{ status: number; body: unknown }> {
  const { statusCode, body } = await from.inject(url);
  return { status: statusCode, body: JSON.parse(body) as unknown };
}

const live = '/api/v1/recordings/~live';

describe('answers', () => {
  test('with the recording', async () => {
    expect((await get('/api/v1/')).body).toEqual({ version: '1.0.0', node: 'node0', faults: false });
    expect((await get('/api/v1/recordings')).body).toMatchObject([{ name: '~live', messages: 6 }]);
  });

  test('with messages, page by page', async () => {
    const first = (await get(`${live}/messages?limit=4`)).body;
    expect(first).toMatchObject({ messages: [{ id: 'sync-loop-0.1.1', service: 'sync-loop' }, {}, {}, {}], next: 4 });
    const rest = (await get(`${live}/messages?limit=4&after=4`)).body as { messages: { seq: number }[] };
    expect(rest).not.toHaveProperty('next');
    expect(rest.messages.map(({ seq }) => seq)).toEqual([5, 6]);
    expect((await get(`${live}/messages?pod=u1&kind=fact&type=sync.fact.pod&source=sync-loop`)).body).toMatchObject({
      messages: [{ seq: 3 }, { seq: 4 }, { seq: 5 }, { seq: 6 }],
    });
  });

  test('with a message and its neighbors', async () => {
    expect((await get(`${live}/messages/3`)).body).toMatchObject({
      ...{ seq: 3, payload: { number: 3 }, headers: { 'Kubus-Seq': '3' } },
      ...{ causedBy: [{ seq: 2 }], caused: [{ seq: 4 }] },
    });
  });

  test('with pods, timelines, density, latency, the map and comparisons', async () => {
    expect((await get(`${live}/pods`)).body).toMatchObject([{ uid: 'u1', messages: 4 }]);
    const timeline = (await get(`${live}/pods/u1`)).body as { messages: unknown[] };
    expect(timeline.messages).toHaveLength(6);
    expect((await get(`${live}/density?buckets=3`)).body).toMatchObject({ services: [{ service: 'sync-loop' }] });
    expect((await get(`${live}/latency?what=stop`)).body).toMatchObject({ what: 'stop', pods: [] });
    expect((await get(`${live}/map`)).body).toMatchObject({ services: expect.any(Array), edges: expect.any(Array) });
    const compared = (await get('/api/v1/compare?left=~live&right=~live/u1&what=start')).body;
    expect(compared).toMatchObject({ left: { recording: '~live' }, right: { recording: '~live', pod: { uid: 'u1' } } });
  });

  test('with traces in three formats', async () => {
    const lines = (await app.inject(`${live}/trace?format=jsonl`)).body.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(numbers(1, 6));
    expect((await get(`${live}/trace?format=chrome&pod=u1`)).body).toMatchObject({ traceEvents: expect.any(Array) });
    expect((await get(`${live}/trace?format=otlp`)).body).toMatchObject({ resourceSpans: expect.any(Array) });
  });
});

describe('refuses', () => {
  test.each([
    ['/api/v1/recordings/none', 404, 'no-recording'],
    ['/api/v1/recordings/none/pods', 404, 'no-recording'],
    ['/api/v1/recordings/..%2fx', 400, 'bad-name'],
    [`${live}/pods/none`, 404, 'no-pod'],
    [`${live}/messages/99`, 404, 'no-message'],
    [`${live}/messages/x`, 400, 'bad-request'],
    [`${live}/messages?limit=1001`, 400, 'bad-request'],
    [`${live}/messages?kind=x`, 400, 'bad-request'],
    [`${live}/messages?after=1&unknown=1`, 400, 'bad-request'],
    [`${live}/density?buckets=0`, 400, 'bad-request'],
    [`${live}/topology`, 404, 'no-topology'],
    [`${live}/topology?at=x`, 400, 'bad-request'],
    [`${live}/trace?format=x`, 400, 'bad-request'],
    ['/api/v1/compare?left=~live', 400, 'bad-request'],
    ['/api/v1/compare?left=~live&right=~live/none', 404, 'no-pod'],
    ['/api/v1/pressure', 404, 'no-node'],
    ['/api/v1/contract', 404, 'no-contract'],
    ['/api/v1/none', 404, 'no-path'],
  ])('%s with %i %s', async (url, status, code) => {
    expect(await get(url)).toMatchObject({ status, body: { error: { code, message: expect.stringMatching(/./) } } });
  });

  test('invalid JSON and invalid recordings', async () => {
    const post = (payload: unknown) =>
      app.inject({ method: 'POST', url: '/api/v1/recordings', payload: payload as object });
    expect((await post({ name: '../x' })).json()).toMatchObject({
      error: { message: expect.stringContaining('name') },
    });
    expect((await post({})).statusCode).toBe(400);
    const headers = { 'content-type': 'application/json' };
    const text = await app.inject({ method: 'POST', url: '/api/v1/recordings', headers, payload: '{' });
    expect([text.statusCode, text.json<{ error: { code: string } }>().error.code]).toEqual([400, 'bad-request']);
  });
});

test('what the node has left is asked of the node, for the signal of the request', async () => {
  const asked: (string | undefined)[] = [];
  const pressure = (signal: string | undefined) => {
    asked.push(signal);
    return Promise.resolve({ conditions: ['PIDPressure'], transitionSeconds: 300, signals: [] });
  };
  const of = { recordings, threads, version: '1', pressure, ids: systemIds, logger: silentLogger };
  const having = await createApp(of);
  try {
    expect(await get('/api/v1/pressure', having)).toMatchObject({ status: 200, body: { conditions: ['PIDPressure'] } });
    await get('/api/v1/pressure?signal=pid.available', having);
    expect(asked).toEqual([undefined, 'pid.available']);
    expect(await get('/api/v1/pressure?sort=1', having)).toMatchObject({ status: 400 });
  } finally {
    await having.close();
  }
});

test('what the machine of a node that goes on is like is asked of the node when the recording does not say', async () => {
  const machine = { sockets: [], nodes: [], cores: [], caches: [], offline: '', isolated: '' };
  const policies = { cpu: 'none', memory: 'None', topology: 'none', scope: 'container' };
  const topology = { machine, policies, memory: [], containers: [] };
  const facts = { topology, resources: [], allocations: new Map(), claims: new Map() };
  const of = { recordings, threads, version: '1', topology: () => facts, ids: systemIds, logger: silentLogger };
  const having = await createApp(of);
  try {
    const { status, body } = await get(`${live}/topology?at=1`, having);
    expect([status, body]).toEqual([200, { moments: [], policies, nodes: [], cpus: [], devices: [], claims: [] }]);
  } finally {
    await having.close();
  }
});

/** Every route about faults. */
const ofFaults = [
  ['GET', '/api/v1/faults'],
  ['POST', '/api/v1/faults'],
  ['DELETE', '/api/v1/faults'],
  ['DELETE', '/api/v1/faults/slow'],
  ['POST', '/api/v1/services/prober/fault'],
] as const;

test.each(ofFaults)('without faults %s %s explains how to start a node with them', async (method, url) => {
  const answer = await app.inject({ method, url });
  expect([answer.statusCode, answer.json()]).toEqual([
    409,
    {
      error: {
        code: 'no-faults',
        message: 'node node0 was started without faults: start it with ./kubus up --observatory --faults',
      },
    },
  ]);
});

describe('the page', () => {
  test('serves only the files in its folder', async () => {
    expect((await app.inject('/')).body).toContain('not built');
    const page = join(folder, 'page');
    await mkdir(join(page, 'assets'), { recursive: true });
    await writeFile(join(page, 'index.html'), '<p>page</p>');
    await writeFile(join(page, 'assets/a.js'), '1');
    await writeFile(join(folder, 'secret.html'), 'secret');
    const paged = await createApp({ recordings, threads, version: '1', page, ids: systemIds, logger: silentLogger });
    const index = await paged.inject('/?x=1');
    expect([index.body, index.headers['content-type']]).toEqual(['<p>page</p>', 'text/html; charset=utf-8']);
    // Scripts come from the page's own files alone: none in the text, none from elsewhere, and none from a string.
    const policy = String(index.headers['content-security-policy']).split('; ');
    expect(policy).toEqual(expect.arrayContaining(["default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]));
    expect(policy.filter((one) => one.startsWith('script-src') || one.includes('unsafe-eval'))).toEqual([]);
    expect(index.headers['x-content-type-options']).toBe('nosniff');
    expect((await paged.inject('/assets/a.js')).body).toBe('1');
    for (const path of ['/../secret.html', '/%2e%2e/secret.html', '/assets/../../secret.html', '/none']) {
      expect((await paged.inject(path)).statusCode).toBe(404);
    }
    await paged.close();
  });
});

test('the socket is for its owner only, and transfers files in both directions and live ticks', async () => {
  const socketPath = join(folder, 'run', 'o.sock');
  const listening = await servePrivately(app, socketPath);
  try {
    expect((await stat(socketPath)).mode & 0o777).toBe(0o600);
    const ask = async (method: string, path: string, body?: Buffer): Promise<IncomingMessage> => {
      const headers = body && { 'content-type': 'application/octet-stream' };
      const asking = request({ socketPath, method, path, agent: false, ...(headers && { headers }) });
      asking.end(body);
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      return answer;
    };
    const file = Buffer.concat(await (await ask('GET', `${live}/file`)).toArray());
    const put = await ask('PUT', '/api/v1/recordings/copy/file', file);
    const taken = JSON.parse(String(Buffer.concat(await put.toArray()))) as RecordingDocument;
    expect([put.statusCode, taken]).toMatchObject([201, { name: 'copy', state: 'imported', messages: 6 }]);
    const refused = await ask('PUT', '/api/v1/recordings/bad/file', Buffer.from('x'));
    expect([refused.statusCode, String(Buffer.concat(await refused.toArray()))]).toEqual([
      400,
      expect.stringContaining('the file: is not a recording'),
    ]);
    const ticks = await ask('GET', '/api/v1/live');
    recordings.recorder.take([message(7, { pod: 'u7' })]);
    let text = '';
    for await (const chunk of ticks) {
      text += String(chunk);
      if (text.includes('u7')) break;
    }
    const line = text.split('\n').find((one) => one.includes('u7')) ?? '';
    const tick = JSON.parse(line.replace(/^data: /, '')) as LiveTick;
    expect(tick).toMatchObject({ seq: 7, pods: ['u7'], rates: { 'sync-loop': expect.any(Number) } });
  } finally {
    await listening.close();
  }
});

test('a long question delays neither a short one nor the recording', async () => {
  const path = join(folder, 'held.kubus');
  await writeFile(path, await recordings.file('~live'));
  const files = new FileRecordings([path], threads);
  const held = await createApp({ recordings: files, threads, version: '1', ids: systemIds, logger: silentLogger });
  // Both kinds of threads have started.
  expect((await get('/api/v1/recordings/held/latency', held)).status).toBe(200);
  // An exclusive lock on the file blocks its readers: the question about it takes until the lock is released.
  const owner = new DatabaseSync(path);
  owner.exec('BEGIN EXCLUSIVE');
  const order: string[] = [];
  const long = get(`/api/v1/compare?left=held&right=held`, held).then(({ status }) => order.push(`long ${status}`));
  const short = await get(`${live}/pods`);
  order.push(`short ${short.status}`);
  recordings.recorder.take([message(7, { pod: 'u7' })]);
  order.push('recorded');
  const again = await get(`${live}/messages/7`);
  order.push(`recorded one ${again.status}`);
  owner.exec('ROLLBACK');
  owner.close();
  await long;
  expect(order).toEqual(['short 200', 'recorded', 'recorded one 200', 'long 200']);
  await held.close();
});

test('a repeated question is answered with the current state', async () => {
  const path = `${live}/latency?what=start`;
  const pods = async () => ((await get(path)).body as LatencyDocument).pods.map(({ uid }) => uid);
  expect([await pods(), await pods()]).toEqual([[], []]);
  const ref = { namespace: 'default', name: 'web', uid: 'u1' };
  const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const say = (number: number, type: string, payload: unknown) => {
    const { message: plain, ...place } = message(number, { pod: 'u1', type });
    recordings.recorder.take([{ ...place, message: { ...plain, data: JSON.stringify(payload) } }]);
  };
  say(7, 'config.fact.file/1', { pod: { metadata: ref } });
  say(8, 'worker.fact.status/1', { ref, status: ready });
  expect([await pods(), await pods()]).toEqual([['u1'], ['u1']]);
});

test('recordings from files cannot be changed', async () => {
  const path = join(folder, 'other.kubus');
  const file = await recordings.file('~live');
  await writeFile(path, file);
  const files = new FileRecordings([path, path], threads);
  const reading = await createApp({ recordings: files, threads, version: '1', ids: systemIds, logger: silentLogger });
  expect((await get('/api/v1/', reading)).body).toEqual({ version: '1', faults: false });
  expect((await get('/api/v1/recordings', reading)).body).toMatchObject([
    { name: 'other', state: 'imported', messages: 6 },
    { name: 'other-2', state: 'imported' },
  ]);
  expect((await get('/api/v1/live', reading)).status).toBe(404);
  for (const [method, url] of [
    ['POST', '/api/v1/recordings/other/stop'],
    ['DELETE', '/api/v1/recordings/other'],
  ] as const) {
    expect((await reading.inject({ method, url })).statusCode).toBe(405);
  }
  for (const [method, url] of ofFaults) {
    const answer = await reading.inject({ method, url });
    expect([answer.statusCode, answer.body]).toEqual([
      method === 'GET' ? 404 : 405,
      expect.stringContaining('there is no node to disturb'),
    ]);
  }
  await reading.close();
  expect(() => new FileRecordings([join(folder, 'none.kubus')], threads)).toThrow('none.kubus');
});
