import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import type { Probe } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { settled } from '@kubus/ports/testing';
import { ScriptedPods, type TestPod } from './scripted-pods.ts';
import { closeServers, serveHttp, serveTcp, signal } from './servers.ts';

let pods: ScriptedPods;

beforeEach(async () => {
  pods = new ScriptedPods();
  await pods.start();
});

afterEach(async () => {
  pods.kill();
  await closeServers();
});

const check = (command: string): Probe => ({ exec: { command: [command] } });
const ready: TestPod = { spec: { containers: [{ readinessProbe: check('ready') }] } };

/** Adds a pod with one running container. */
async function run(pod: TestPod, uid = 'a'): Promise<void> {
  await pods.work(uid, pod);
  await pods.runtime(uid, [{ id: `c-${uid}` }]);
}

/** The reply to the first command. */
function firstReply(): string {
  const reply = pods.broker.said.find(({ headers }) => headers[HEADER.status] === 'done');
  return [HEADER.source, HEADER.epoch, HEADER.seq].map((name) => reply?.headers[name]).join('.');
}

const exits = (exitCode: number) => () => Promise.resolve({ exitCode });

describe('results', () => {
  test('are published when the container exists and when they change, with their cause', async () => {
    await run(ready);
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'failure' } });
    await pods.pass(0);
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'success' } });
    const said = pods.said('a');
    expect(said).toBe(2);
    await pods.pass(60);
    expect(pods.commands).toHaveLength(7);
    expect(pods.said('a')).toBe(said);
    const last = pods.broker.said.findLast(({ subject }) => subject.endsWith('.probe.fact.results.a'));
    expect(last?.headers[HEADER.causes]).toBe(firstReply());
  });

  test('of a startup probe let the other probes start', async () => {
    const probes = { startupProbe: check('up'), livenessProbe: check('alive'), readinessProbe: check('ready') };
    pods.exec = exits(1);
    await run({ spec: { containers: [probes] } });
    await pods.pass(15);
    expect(pods.commands).toEqual(['up']);
    expect(pods.results('a')).toEqual({ 'c-a': { startup: 'unknown', liveness: 'success', readiness: 'failure' } });
    pods.exec = exits(0);
    await pods.pass(5);
    expect(pods.commands).toEqual(['up', 'up', 'alive', 'ready']);
    expect(pods.results('a')).toEqual({ 'c-a': { startup: 'success', liveness: 'success', readiness: 'success' } });
    await pods.pass(10);
    expect(pods.commands.slice(4).sort()).toEqual(['alive', 'ready']);
  });

  test('of a failed liveness probe stay until there is a new container', async () => {
    pods.exec = () => Promise.resolve({ exitCode: 1, stdout: btoa('out '), stderr: btoa('err') });
    await run({ spec: { containers: [{ livenessProbe: { ...check('alive'), failureThreshold: 2 } }] } });
    await pods.pass(60);
    expect(pods.commands).toEqual(['alive', 'alive']);
    expect(pods.results('a')).toEqual({ 'c-a': { liveness: 'failure' } });
    const text = 'Unhealthy spec.containers{app}: Liveness probe failed: out err';
    expect(pods.events()).toEqual([text, text]);
    await pods.runtime('a', [{ id: 'c2' }, { id: 'c-a', state: 'exited' }]);
    expect(pods.results('a')).toEqual({ c2: { liveness: 'success' } });
    await pods.pass(10);
    expect(pods.commands).toHaveLength(3);
  });

  test('of an exited container are failures, those in an unknown state stay', async () => {
    await run(ready);
    await pods.pass(0);
    await pods.runtime('a', [{ id: 'c-a', state: 'unknown' }]);
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'success' } });
    await pods.runtime('a', [{ id: 'c-a', state: 'exited' }]);
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'failure' } });
    await pods.pass(60);
    expect(pods.commands).toEqual(['ready']);
  });

  test('of sidecars are published like others, and events name their field path', async () => {
    const sidecar = { name: 'proxy', image: 'i', restartPolicy: 'Always', readinessProbe: check('proxied') };
    const setup = { name: 'setup', image: 'i', readinessProbe: check('never') };
    pods.exec = exits(1);
    await pods.work('a', { spec: { initContainers: [setup, sidecar], containers: [{}] } });
    await pods.runtime('a', [
      { id: 'c1', name: 'setup' },
      { id: 'c2', name: 'proxy' },
    ]);
    await pods.pass(0);
    expect(pods.results('a')).toEqual({ c2: { readiness: 'failure' } });
    expect(pods.events()).toEqual(['Unhealthy spec.initContainers{proxy}: Readiness probe failed: ']);
  });

  test('of a pod without probes are not published', async () => {
    await run({ spec: { containers: [{}] } });
    await pods.finish('a');
    expect(pods.said('a')).toBe(0);
  });

  test.each([
    ['its work is kill', { work: 'kill' as const }],
    ['it is deleted', { deletionTimestamp: '2030-01-01T00:00:01Z' }],
  ])('of a pod that ends because %s are complete, and only readiness is still probed', async (_what, ending) => {
    const probes = { startupProbe: check('up'), livenessProbe: check('alive'), readinessProbe: check('ready') };
    const pod: TestPod = { spec: { containers: [probes] } };
    pods.exec = exits(1);
    await run(pod);
    await pods.work('a', { ...pod, ...ending });
    expect(pods.results('a')).toEqual({ 'c-a': { startup: 'success', liveness: 'success', readiness: 'failure' } });
    await pods.pass(25);
    expect(pods.commands).toEqual(['ready', 'ready', 'ready']);
  });

  test('are removed with the pod, also from the state folder', async () => {
    await run(ready);
    expect((await pods.records.load()).has('a')).toBe(true);
    await pods.finish('a');
    expect(pods.results('a')).toBeUndefined();
    expect(await pods.records.load()).toEqual(new Map());
    await pods.pass(60);
    expect(pods.commands).toEqual([]);
  });
});

test('an unready container is probed at once when another container of its pod changes', async () => {
  pods.exec = exits(1);
  const spec = { containers: [{ readinessProbe: check('ready') }, { name: 'db' }] };
  await pods.work('a', { spec });
  await pods.runtime('a', [{ id: 'c1' }]);
  await pods.pass(3);
  expect(pods.commands).toEqual(['ready']);
  await pods.runtime('a', [{ id: 'c1' }, { id: 'c2', name: 'db' }]);
  await pods.pass(0);
  expect(pods.commands).toEqual(['ready', 'ready']);
  await pods.runtime('a', [{ id: 'c1' }, { id: 'c2', name: 'db' }]);
  await pods.pass(1);
  expect(pods.commands).toHaveLength(2);
});

describe('a restarted prober', () => {
  test('publishes the known results before it probes anything', async () => {
    await run(ready);
    await pods.pass(0);
    pods.kill();
    pods.exec = exits(1);
    await pods.start();
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'success' } });
    expect(pods.commands).toEqual(['ready']);
    await pods.pass(19);
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'success' } });
    await pods.pass(1);
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'failure' } });
  });

  test('does not reset a started or failed container', async () => {
    const probes = { startupProbe: check('up'), livenessProbe: { ...check('alive'), failureThreshold: 1 } };
    pods.exec = ({ cmd }) => exits(cmd?.[0] === 'up' ? 0 : 1)();
    await run({ spec: { containers: [probes] } });
    await pods.pass(20);
    expect(pods.results('a')).toEqual({ 'c-a': { startup: 'success', liveness: 'failure' } });
    const { length } = pods.commands;
    pods.kill();
    await pods.start();
    await pods.pass(60);
    expect(pods.commands).toHaveLength(length);
    expect(pods.results('a')).toEqual({ 'c-a': { startup: 'success', liveness: 'failure' } });
  });

  test('spreads the probes of containers that ran before', async () => {
    for (const uid of ['a', 'b', 'c']) await run(ready, uid);
    await pods.pass(3);
    pods.kill();
    pods.commands.length = 0;
    pods.fraction = 0.4;
    await pods.start();
    await pods.pass(3);
    expect(pods.commands).toEqual([]);
    await pods.pass(1);
    expect(pods.commands).toHaveLength(3);
  });

  test('removes results of pods that ended meanwhile once all work is known', async () => {
    await run(ready);
    await pods.pass(0);
    pods.kill();
    await pods.finish('a');
    await pods.start();
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'success' } });
    await pods.workComplete();
    expect(pods.results('a')).toBeUndefined();
    expect(await pods.records.load()).toEqual(new Map());
  });

  test('ignores and removes a record that cannot be read', async () => {
    pods.kill();
    await pods.records.put('x', { version: 7 });
    await pods.start();
    expect(pods.results('x')).toBeUndefined();
    expect(await pods.records.load()).toEqual(new Map());
  });
});

test('results that cannot be recorded are not published until a retry succeeds', async () => {
  pods.records.failure = new KubusError('state-folder', 'the disk is full');
  await run(ready);
  await pods.pass(0);
  expect(pods.results('a')).toBeUndefined();
  expect(pods.prober.saveError).toBe('the disk is full');
  pods.records.failure = undefined;
  await pods.pass(1);
  expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'success' } });
  expect(pods.prober.saveError).toBeUndefined();
});

describe('exec', () => {
  test('the command and its timeout are passed to the runtime', async () => {
    const asked: unknown[] = [];
    pods.exec = (params) => {
      asked.push(params);
      return Promise.resolve({});
    };
    const readinessProbe = { exec: { command: ['cat', '$(FILE)'] }, timeoutSeconds: 4 };
    await run({ spec: { containers: [{ readinessProbe, env: [{ name: 'FILE', value: '/x' }] }] } });
    await pods.pass(0);
    expect(asked).toEqual([{ containerId: 'c-a', cmd: ['cat', '/x'], timeout: '4' }]);
  });

  test('a command that takes too long is a failure', async () => {
    pods.exec = () => Promise.reject(new KubusError('DeadlineExceeded', 'timeout 1s exceeded'));
    await run(ready);
    await pods.pass(0);
    const text = 'Readiness probe failed: command timed out: "ready" timed out after 1s';
    expect(pods.events()).toEqual([`Unhealthy spec.containers{app}: ${text}`]);
  });

  test('a command that cannot be run is tried three times, reported as an event, and not counted', async () => {
    await run(ready);
    await pods.pass(0);
    pods.exec = () => Promise.reject(new KubusError('Unknown', 'no such program'));
    await pods.pass(30);
    expect(pods.commands).toHaveLength(1 + 3 * 3);
    const text =
      'Readiness probe errored and resulted in unknown state: rpc error: code = Unknown desc = no such program';
    expect(pods.events()).toEqual(Array(3).fill(`Unhealthy spec.containers{app}: ${text}`));
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'success' } });
  });

  test('an unreachable runtime is neither a failure nor reported as an event', async () => {
    await run(ready);
    await pods.pass(0);
    pods.exec = () => Promise.reject(new KubusError('Unavailable', 'connection refused'));
    await pods.pass(60);
    expect(pods.commands).toHaveLength(7);
    expect(pods.events()).toEqual([]);
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'success' } });
  });

  test('an unavailable cri-bridge is not a failure; the probe is made when it returns', async () => {
    await run({ spec: { containers: [{ livenessProbe: { ...check('alive'), failureThreshold: 1 } }] } });
    pods.exec = () => new Promise(() => undefined);
    await pods.pass(10);
    expect(pods.commands).toHaveLength(1);
    pods.killBridge();
    await pods.pass(600);
    expect(pods.results('a')).toEqual({ 'c-a': { liveness: 'success' } });
    pods.exec = exits(0);
    await pods.startBridge();
    expect(pods.commands).toHaveLength(2);
    expect(pods.events()).toEqual([]);
    await pods.pass(20);
    expect(pods.commands.length).toBeGreaterThan(3);
  });
});

describe('over the network', () => {
  test('a hanging probe does not delay others', async () => {
    const hung = signal();
    const hanging = await serveTcp(hung.see);
    const well = await serveHttp((_request, response) => response.end());
    const probe = (port: number): Probe => ({ httpGet: { port }, timeoutSeconds: 300 });
    await run({ spec: { containers: [{ readinessProbe: probe(hanging) }] } }, 'a');
    await pods.pass(0);
    await hung.seen;
    await run({ spec: { containers: [{ readinessProbe: probe(well) }] } }, 'b');
    await pods.pass(0);
    await pods.until(() => pods.results('b')?.['c-b']?.readiness === 'success');
    expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'failure' } });
    expect(pods.events()).toEqual([]);
    await pods.pass(300);
    await pods.until(() => pods.events().length > 0);
    expect(pods.events()[0]).toMatch(/Readiness probe failed: Get ".*": context deadline exceeded/);
  });

  test('a redirect to another host is a success, reported as an event', async () => {
    const port = await serveHttp((_request, response) => {
      response.writeHead(302, { location: 'http://elsewhere.example/' }).end('there');
    });
    await run({ spec: { containers: [{ readinessProbe: { httpGet: { port } } }] } });
    await pods.pass(0);
    await pods.until(() => pods.results('a')?.['c-a']?.readiness === 'success');
    expect(pods.events()).toEqual([
      'ProbeWarning spec.containers{app}: Readiness probe warning: Probe terminated redirects, Response body: there',
    ]);
  });

  test('ports are found by name, and pods in the host’s network by the node’s address', async () => {
    const port = await serveTcp((socket) => socket.resume());
    const readinessProbe = { tcpSocket: { port: 'web' } };
    const ports = [{ name: 'web', containerPort: port }];
    await pods.work('a', { spec: { hostNetwork: true, containers: [{ readinessProbe, ports }] } });
    await pods.runtime('a', [{ id: 'c-a' }], []);
    await pods.pass(0);
    await pods.until(() => pods.results('a')?.['c-a']?.readiness === 'success');
  });

  test.each([
    ['of a port that does not exist', { tcpSocket: { port: 'web' } }, 'strconv.Atoi: parsing "web": invalid syntax'],
    ['of a pod without an address', { tcpSocket: { port: 1 } }, 'the pod has no IP address'],
    ['without a handler', {}, 'missing probe handler for app'],
  ])('a probe %s is reported as an error', async (_what, readinessProbe, message) => {
    await pods.work('a', { spec: { containers: [{ readinessProbe }] } });
    await pods.runtime('a', [{ id: 'c-a' }], []);
    await pods.pass(0);
    const text = `Readiness probe errored and resulted in unknown state: ${message}`;
    expect(pods.events()).toEqual([`Unhealthy spec.containers{app}: ${text}`]);
  });

  test('an attempt is cancelled when its pod ends', async () => {
    const asked = signal();
    const closed = signal();
    const port = await serveHttp((request) => {
      request.once('close', closed.see);
      asked.see();
    });
    await run({ spec: { containers: [{ readinessProbe: { httpGet: { port } } }] } });
    await pods.pass(0);
    await asked.seen;
    await pods.finish('a');
    await closed.seen;
    await settled();
    expect(pods.events()).toEqual([]);
    expect(pods.results('a')).toBeUndefined();
  });
});

test('attempts are counted by result until their pod ends', async () => {
  await run(ready);
  await pods.pass(20);
  pods.exec = exits(1);
  await pods.pass(10);
  pods.exec = () => Promise.reject(new KubusError('Unknown', 'no'));
  await pods.pass(10);
  const labels = { probe_type: 'Readiness', container: 'app', pod: 'pod-a', namespace: 'default', pod_uid: 'a' };
  expect([...pods.prober.counts()]).toEqual([
    { value: 3, labels: { ...labels, result: 'successful' } },
    { value: 1, labels: { ...labels, result: 'failed' } },
    { value: 1, labels: { ...labels, result: 'unknown' } },
  ]);
  await pods.finish('a');
  expect([...pods.prober.counts()]).toEqual([]);
});
