// Logs of containers: real files in the runtime's format, read through the API as kubectl and the API server read
// them.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod, PodStatus, StreamEvent } from '@kubus/contracts';
import { poll } from '@kubus/harness';
import { ADMIN, TestApiServer } from '@kubus/kube-fixture';
import { execFile } from 'node:child_process';
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ApiNode, open, podNamed, runOf } from './api-node.ts';
import { begin, get } from './client.ts';

let node: ApiNode;
let pod: Pod;
let log: string;
let count = 0;
/** Ends the requests of a test. */
let reading = new AbortController();

beforeAll(async () => {
  node = await ApiNode.make();
  await node.start(open);
});
afterAll(() => node.remove());

beforeEach(async () => {
  const name = `pod-${String(count++)}`;
  pod = podNamed(name);
  mkdirSync(join(node.folder, name));
  log = join(node.folder, name, '0.log');
  reading = new AbortController();
  node.want('api', pod);
  await present(404);
});
afterEach(() => {
  reading.abort();
  rmSync(join(node.folder, pod.metadata.name), { recursive: true });
});

const line = (second: number, text: string, stream = 'stdout') =>
  `2020-01-01T00:00:0${String(second)}Z ${stream} F ${text}\n`;
const time = (second: number) => `2020-01-01T00:00:0${String(second)}.000000000Z`;

const ask = (query = '', container = 'main') =>
  get(node.api.ports.secure, `/containerLogs/default/${pod.metadata.name}/${container}?${query}`);

/** Resolves when the log is no longer refused with this status: facts take a moment. */
async function present(refused: number, query = ''): Promise<void> {
  const { status } = await poll('the facts have arrived', async () => {
    const answer = await ask(query);
    return answer.status === refused ? undefined : answer;
  });
  // Of the previous request.
  if (status === 200) await logEvents();
  node.events.splice(0);
}

/** Resolves with the two events about the one request for the pod's log. */
async function logEvents(): Promise<readonly StreamEvent[]> {
  const own = () => node.events.filter(({ ref }) => ref.uid === pod.metadata.uid);
  await node.untilEvents(() => own().length === 2);
  return own();
}

/** The container runs and has written to its log. */
async function running(text: string): Promise<void> {
  writeFileSync(log, text);
  node.runs(pod, [runOf('now', log)]);
  node.status(pod, statusOf({ running: {} }));
  await present(400);
}

function statusOf(state: object, lastState: object = {}): PodStatus {
  const common = { ready: false, restartCount: 0, image: '', imageID: '', containerID: 'containerd://now' };
  return { containerStatuses: [{ name: 'main', state, lastState, ...common }] };
}

const follow = (query = '') =>
  begin(node.api.ports.secure, `/containerLogs/default/${pod.metadata.name}/main?follow=true&${query}`, {
    signal: reading.signal,
  });

/** Reads until this text has arrived. */
async function until(response: IncomingMessage, text: string): Promise<void> {
  let got = '';
  for (;;) {
    got += ((response.read() as Buffer | null) ?? '').toString();
    if (got.length >= text.length) break;
    await new Promise<void>((resolve, reject) => {
      response.once('readable', resolve);
      response.once('error', reject);
    });
  }
  expect(got).toBe(text);
}

async function rest(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return text;
}

describe('a log', () => {
  beforeEach(() => running(line(1, 'one') + line(2, 'two', 'stderr') + line(3, 'three')));

  test.each([
    ['', 'one\ntwo\nthree\n'],
    ['tailLines=1', 'three\n'],
    ['tailLines=0', ''],
    ['limitBytes=5', 'one\nt'],
    ['timestamps=true&tailLines=1', `${time(3)} three\n`],
    ['sinceTime=2020-01-01T00:00:02Z', 'two\nthree\n'],
    ['sinceSeconds=1', ''],
    ['sinceSeconds=3000000000', 'one\ntwo\nthree\n'],
    ['stream=Stderr', 'two\n'],
    ['stream=Stdout&timestamps=1', `${time(1)} one\n${time(3)} three\n`],
  ])('is returned as requested: %s', async (query, text) => {
    const answer = await ask(query);
    expect(answer).toMatchObject({ status: 200, text });
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['transfer-encoding']).toBe('chunked');
  });

  test('is reported on the bus with its reader and the number of bytes', async () => {
    await ask('limitBytes=5');
    const [began, ended] = await logEvents();
    const ref = { namespace: 'default', name: pod.metadata.name, uid: pod.metadata.uid };
    const both = { ref, container: 'main', kind: 'logs', user: 'system:anonymous', stream: began?.stream };
    expect(began).toEqual({ ...both, what: 'began' });
    expect(ended).toEqual({ ...both, what: 'ended', bytes: 5 });
  });

  test.each([
    ['tailLines=-1', 422, '{"message": "Invalid request."}'],
    ['sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z', 422, '{"message": "Invalid request."}'],
    ['tailLines=x', 400, '{"message": "Unable to decode query."}'],
    ['previous=true', 400, 'previous terminated container "main" in pod "POD" not found'],
  ])('is refused: %s', async (query, status, text) => {
    expect(await ask(query)).toMatchObject({ status, text: text.replace('POD', pod.metadata.name) });
  });

  test('of an unknown container or pod is not found', async () => {
    const { name } = pod.metadata;
    expect(await ask('', 'other')).toMatchObject({ status: 404, text: `container "other" not found in pod "${name}"` });
    const nobody = await get(node.api.ports.secure, '/containerLogs/default/nobody/main');
    expect(nobody).toMatchObject({ status: 404, text: 'pod "nobody" does not exist' });
    const elsewhere = await get(node.api.ports.secure, `/containerLogs/other/${name}/main`);
    expect(elsewhere.status).toBe(404);
  });

  test('that was removed with its container is unavailable', async () => {
    node.runs(pod);
    await poll('the log has been removed', async () => (await ask()).status === 400 || undefined);
    expect(await ask()).toMatchObject({
      status: 400,
      text: 'unable to retrieve container logs for containerd://now',
    });
  });

  test('with a missing file breaks off, and the reason is published', async () => {
    rmSync(log);
    await expect(ask()).rejects.toThrow(/aborted|hang up/);
    expect((await logEvents())[1]?.error).toBe(`the log ${log} cannot be read: does not exist`);
  });
});

test.each([
  [{ waiting: { reason: 'ContainerCreating' } }, 'is waiting to start: ContainerCreating'],
  [{ waiting: { reason: 'ImagePullBackOff' } }, 'is waiting to start: trying and failing to pull image'],
])('a container that has not started has no log: %j', async (state, why) => {
  node.status(pod, statusOf(state));
  const wanted = `container "main" in pod "${pod.metadata.name}" ${why}`;
  await poll('the reason is returned', async () => (await ask()).text === wanted || undefined);
  expect((await ask()).status).toBe(400);
});

test('the previous run has a log of its own', async () => {
  const before = join(node.folder, pod.metadata.name, 'before.log');
  writeFileSync(before, line(1, 'before'));
  await running(line(2, 'now'));
  node.runs(pod, [runOf('now', log), runOf('before', before, 'exited')]);
  node.status(pod, statusOf({ running: {} }, { terminated: { exitCode: 1, containerID: 'containerd://before' } }));
  await present(400, 'previous=true');
  expect((await ask('previous=true')).text).toBe('before\n');
  expect((await ask('previous=true&follow=true')).text).toBe('before\n');
  expect((await ask()).text).toBe('now\n');
});

describe('a followed log', () => {
  test('continues through rotations, and ends with its container', async () => {
    await running(line(1, 'one') + line(2, 'two'));
    const response = await follow('tailLines=1');
    await until(response, 'two\n');
    renameSync(log, `${log}.20200101-000001`);
    appendFileSync(`${log}.20200101-000001`, line(3, 'late'));
    writeFileSync(log, line(4, 'next'));
    await until(response, 'late\nnext\n');
    appendFileSync(log, line(5, 'last'));
    node.runs(pod, [runOf('now', log, 'exited')]);
    expect(await rest(response)).toBe('last\n');
    expect((await logEvents())[1]).toMatchObject({ what: 'ended', bytes: 19 });
  });

  test('goes on for a container that is still shown as created', async () => {
    writeFileSync(log, line(1, 'one'));
    node.runs(pod, [runOf('now', log, 'created')]);
    node.status(pod, statusOf({ running: {} }));
    await present(400);
    const response = await follow();
    await until(response, 'one\n');
    // Another fact arrives, which is no end either; a log that counts as complete ends after 100 ms without a line.
    node.runs(pod, [runOf('now', log, 'unknown')]);
    await delay(300);
    node.runs(pod, [runOf('now', log)]);
    appendFileSync(log, line(2, 'two'));
    await until(response, 'two\n');
    node.runs(pod, [runOf('now', log, 'exited')]);
    expect(await rest(response)).toBe('');
  });

  test('ends when the runtime no longer has the container', async () => {
    await running(line(1, 'one'));
    const response = await follow();
    await until(response, 'one\n');
    node.runs(pod);
    expect(await rest(response)).toBe('');
  });

  test('is answered before its first line', async () => {
    await running('');
    const response = await follow();
    expect(response.statusCode).toBe(200);
    appendFileSync(log, line(1, 'one'));
    await until(response, 'one\n');
  });

  test('is no longer read when the client has disconnected', async () => {
    await running(line(1, 'one'));
    const response = await follow();
    response.on('error', () => undefined);
    await until(response, 'one\n');
    expect(node.api.streams).toBe(1);
    reading.abort();
    expect((await logEvents())[1]).toMatchObject({ what: 'ended', bytes: 4 });
    expect(node.api.streams).toBe(0);
  });

  test('is complete and in order for a client that reads late and fast', async () => {
    const lines = 300_000;
    const batch = 6_000;
    await running('');
    const response = await follow();
    const file = await openFile(log, 'a');
    const written = (async () => {
      for (let from = 0; from < lines; from += batch) {
        const texts = Array.from({ length: batch }, (_, index) => line(1, String(from + index).padStart(63, '0')));
        await file.appendFile(texts.join(''));
      }
      await file.close();
      node.runs(pod, [runOf('now', log, 'exited')]);
    })();
    // The client reads nothing until everything is written.
    await written;
    let next = 0;
    let open = '';
    for await (const chunk of response) {
      const texts = (open + String(chunk)).split('\n');
      open = texts.pop() ?? '';
      for (const text of texts) if (Number(text) === next && text.length === 63) next += 1;
    }
    expect({ next, open }).toEqual({ next: lines, open: '' });
  });
});

describe('kubectl', () => {
  let cluster: TestApiServer;
  let kubeconfig: string;

  beforeAll(async () => {
    const kubelet = () => Promise.resolve({ host: '127.0.0.1', port: node.api.ports.secure });
    cluster = await TestApiServer.start({ kubelet });
    kubeconfig = await cluster.kubeconfig(ADMIN, 'token');
    cluster.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node0' } });
  });
  afterAll(() => cluster.close());

  function kubectl(...args: string[]): Promise<{ stdout: string }> {
    return promisify(execFile)('kubectl', ['--kubeconfig', kubeconfig, 'logs', pod.metadata.name, ...args]);
  }

  test('shows a log, its tail, the previous run, and new lines', async () => {
    const containers = pod.spec.containers.map(({ name }) => ({ name, image: 'busybox' }));
    const { name } = pod.metadata;
    cluster.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { nodeName: 'node0', containers } });
    const before = join(node.folder, name, 'before.log');
    writeFileSync(before, line(1, 'before'));
    await running(line(1, 'one') + line(2, 'two'));
    node.runs(pod, [runOf('now', log), runOf('before', before, 'exited')]);
    node.status(pod, statusOf({ running: {} }, { terminated: { exitCode: 1, containerID: 'containerd://before' } }));
    await poll('the previous run is known', async () => (await ask('previous=true')).status === 200 || undefined);

    expect((await kubectl('-c', 'main')).stdout).toBe('one\ntwo\n');
    expect((await kubectl('-c', 'main', '--tail=1', '--timestamps')).stdout).toBe(`${time(2)} two\n`);
    expect((await kubectl('-c', 'main', '--previous')).stdout).toBe('before\n');
    await expect(kubectl('-c', 'side')).rejects.toThrow('BadRequest');

    const followed = kubectl('-c', 'main', '-f');
    await poll('the log is being followed', () => Promise.resolve(node.api.streams === 1 || undefined));
    appendFileSync(log, line(3, 'three'));
    node.runs(pod, [runOf('now', log, 'exited')]);
    expect((await followed).stdout).toBe('one\ntwo\nthree\n');
  });
});

test('stopping the node API ends its readers', async () => {
  await running(line(1, 'one'));
  const response = await follow();
  response.on('error', () => undefined);
  await until(response, 'one\n');
  await node.start(open);
  expect((await logEvents())[1]).toMatchObject({ what: 'ended', bytes: 4 });
});
