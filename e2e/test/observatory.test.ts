import { expect } from '@jest/globals';
import type {
  Comparison,
  LatencyDocument,
  MessagePage,
  PodSummary,
  PodTimeline,
  RecordingDocument,
  ServiceMap,
} from '@kubus/contracts/observatory';
import { type TestNode, checkout, poll } from '@kubus/harness';
import { copyFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { sharedNode } from '../src/node-tests.ts';
import { openObservatory } from '../src/observatory-page.ts';
import { pod } from '../src/pods.ts';

const onNode = sharedNode('observatory', { observatory: true });

const complete = { droppedByBroker: 0, neverStored: 0, unreadable: 0 };

async function recordings(node: TestNode): Promise<Map<string, RecordingDocument>> {
  const { code, stdout, stderr } = await node.kubus('record', 'list', '-o', 'json');
  expect([code, stderr]).toEqual([0, '']);
  const { items } = JSON.parse(stdout) as { items: RecordingDocument[] };
  return new Map(items.map((one) => [one.name, one]));
}

async function done(node: TestNode, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await node.kubus('record', ...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

onNode('the life of a pod is recorded, exported to a file, and read back unchanged', async (node) => {
  const status = JSON.parse((await node.kubus('status', '-o', 'json')).stdout) as {
    healthy: boolean;
    services: { instance: string; state: string }[];
  };
  expect(status.services).toContainEqual(expect.objectContaining({ instance: 'observatory-0', state: 'Ready' }));
  expect(await done(node, 'start', 'life')).toContain('recording');
  await node.writeManifest('a.json', pod('recorded'));
  const { ref } = await node.watch.waitForPod('recorded');
  expect((await node.kubus('restart', 'observatory')).code).toBe(0);
  await node.removeManifest('a.json');
  await node.watch.waitForNoPod('recorded');
  const page = await openObservatory(node);
  // Messages in flight are in the recording before it ends.
  await poll('the end of the pod in the recording', async () => {
    const pods = await page.ask<PodSummary[]>('/recordings/life/pods');
    return pods.find(({ uid, worker }) => uid === ref.uid && worker === 'finished');
  });
  await done(node, 'stop', 'life');
  const life = (await recordings(node)).get('life');
  expect(life).toMatchObject({ state: 'complete', node: node.name, completeness: complete });
  expect((await recordings(node)).get('~live')).toMatchObject({ state: 'live' });
  // The node goes on: a message with a lower number may arrive after one with a higher number.
  await poll('a moment at which no message of the live recording is missing', async () => {
    const missing = (await recordings(node)).get('~live')?.completeness;
    return isDeepStrictEqual(missing, complete) ? true : undefined;
  });

  const file = join(node.folder, 'life.kubus');
  await done(node, 'export', 'life', file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const other = join(node.folder, 'other.kubus');
  await copyFile(file, other);
  const files = await openObservatory(node, other);
  const [there] = await files.ask<RecordingDocument[]>('/recordings');
  expect(there).toMatchObject({ name: 'other', messages: life?.messages, completeness: complete });
  const timeline = await files.ask<PodTimeline>(`/recordings/other/pods/${ref.uid}`);
  expect(timeline.pod).toMatchObject({ name: ref.name, namespace: ref.namespace, worker: 'finished' });
  expect(timeline.paths.map(({ what }) => what).sort()).toEqual(['start', 'stop']);
  expect(timeline.answer).toMatchObject({
    state: 'deleted',
    sentence: expect.stringMatching(/^Deleted; its stop took /),
  });
  const own = await page.ask<PodTimeline>(`/recordings/life/pods/${ref.uid}`);
  expect(timeline).toEqual(own);
  // The list, which does not read every message, agrees with the story.
  const listed = await files.ask<PodSummary[]>('/recordings/other/pods');
  expect(listed).toContainEqual(timeline.pod);
  // The file gives the same result as the node, and agrees with the story.
  for (const path of ['latency?what=start', 'latency?what=stop', 'map']) {
    expect([path, await files.ask(`/recordings/other/${path}`)]).toEqual([
      path,
      await page.ask(`/recordings/life/${path}`),
    ]);
  }
  const { ms } = await files.ask<LatencyDocument>('/recordings/other/latency?what=start');
  expect(ms).toEqual([timeline.paths.find(({ what }) => what === 'start')?.ms]);
  const { edges } = await files.ask<ServiceMap>('/recordings/other/map');
  const work = { from: 'sync-loop', to: 'pod-workers', type: 'sync.fact.pod', busP50: expect.any(Number) };
  expect(edges).toContainEqual(expect.objectContaining(work));
  const commands = await files.ask<MessagePage>(`/recordings/other/messages?pod=${ref.uid}&kind=cmd`);
  expect(commands.messages.map(({ type }) => type)).toContain('runtime.cmd.RunPodSandbox/1');

  const traced = await node.kubus('trace', 'pod', ref.name, '--recording', file, '--critical');
  expect(traced).toMatchObject({ code: 0, stdout: expect.stringContaining('total start') });
  const compared = await node.kubus('diff', file, `${other}/${ref.name}`, '-o', 'json');
  expect([compared.code, compared.stderr]).toEqual([0, '']);
  const { left, right, steps } = JSON.parse(compared.stdout) as Comparison;
  expect([left.pods, right.pods, right.pod?.uid]).toEqual([1, 1, ref.uid]);
  expect(new Set(steps.map(({ verdict }) => verdict))).toEqual(new Set(['same']));

  await done(node, 'import', file, '--name', 'again');
  expect((await recordings(node)).get('again')).toMatchObject({ state: 'imported', messages: life?.messages });
  await done(node, 'delete', 'again');
  await done(node, 'delete', 'life');
  expect([...(await recordings(node)).keys()]).toEqual(['~live']);
  await Promise.all([files.end(), page.end()]);
});

onNode('the page’s address requires its token, and streams events', async (node) => {
  const { base, headers, end } = await openObservatory(node);
  expect((await fetch(`${base}/api/v1/recordings`)).status).toBe(401);
  expect((await fetch(`${base}/api/v1/recordings`, { headers: { authorization: 'Bearer x' } })).status).toBe(401);
  expect((await fetch(`${base}/api/v1/recordings/..%2f..%2flive`, { headers })).status).toBe(400);
  const faults = await fetch(`${base}/api/v1/faults`, { headers });
  expect([faults.status, await faults.text()]).toEqual([
    409,
    expect.stringContaining('./kubus up --observatory --faults'),
  ]);
  const live = await fetch(`${base}/api/v1/live`, { headers });
  expect(live.headers.get('content-type')).toContain('text/event-stream');
  const reader = (live.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  for (let text = ''; !/^data: \{"at":/m.test(text);) {
    const { value, done: ended } = await reader.read();
    if (ended) throw new Error(`the events ended after ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  await end();
});

onNode('an impossible request is refused with the reason', async (node) => {
  const refused = async (text: string, ...args: string[]) => {
    expect(await node.kubus(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(text) });
  };
  await refused('must be 1 to 63', 'record', 'start', '../x');
  await refused('there is no recording "none"', 'record', 'stop', 'none');
  await refused('there is no recording "none"', 'record', 'export', 'none', join(node.folder, 'none.kubus'));
  await refused('is not a recording', 'record', 'import', join(checkout, 'README.md'), '--name', 'readme');
  await refused('does not exist', 'observatory', join(node.folder, 'none.kubus'));
  const file = join(node.folder, 'live.kubus');
  await done(node, 'export', file);
  const files = await openObservatory(node, file);
  expect((await files.ask<RecordingDocument[]>('/recordings'))[0]?.messages).toBeGreaterThan(0);
  await files.end();
});
