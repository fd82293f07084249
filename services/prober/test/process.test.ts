import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Bus, type Fact } from '@kubus/bus';
import { NatsTransport } from '@kubus/bus-nats';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import {
  type PodProbes,
  type PodWork,
  type ServiceName,
  podProbes,
  podWork,
  runtimePod,
  serviceContracts,
  serviceInstance,
  serviceNames,
} from '@kubus/contracts';
import { type Clock, silentLogger } from '@kubus/ports';
import { systemIds } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closeServers, serveHttp } from './servers.ts';

const NODE = 'n';
const identities = serviceNames.map((service) => ({ service, instance: `${service}-0` }));
const clock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, action) => {
    // Pending timers do not keep the test's process alive.
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};

const server = new TestNatsServer();
const open: NatsConnection[] = [];
let folder: string;
let child: ChildProcess | undefined;

async function connection(service: ServiceName): Promise<NatsConnection> {
  const made = await server.connect(`${service}-0`);
  open.push(made);
  return made;
}

async function joinBus(service: ServiceName): Promise<Bus> {
  const instance = `${service}-0`;
  const made = await connection(service);
  const ports = { clock, ids: systemIds, logger: silentLogger };
  const transport = new NatsTransport({ connection: made, node: NODE, instance, ...ports });
  return new Bus({ node: NODE, service, instance, epoch: 1, contract: serviceContracts[service], transport, ...ports });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-prober-'));
  await server.start(NODE, serviceContracts, identities);
  await server.makeStreams();
  await writeFile(join(folder, 'prober-0.nk'), server.identities.get('prober-0')?.seed ?? '', { mode: 0o600 });
  const config = {
    ...{ node: NODE, nats: { url: server.url, identities: folder }, state: join(folder, 'state') },
    ...{ manifests: { path: folder }, runtime: { socket: '' }, pods: { root: folder, logs: folder } },
    network: { configDir: folder, pluginDirs: [folder], socket: '' },
  };
  await writeFile(join(folder, 'node.json'), JSON.stringify(config));
});

afterEach(async () => {
  await kill();
  for (const one of open.splice(0)) await one.close();
  await closeServers();
});

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

function start(): void {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  child = spawn(process.execPath, [main, '--config', join(folder, 'node.json')], { stdio: 'ignore' });
}

async function kill(): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

test('a Ready pod stays Ready while the prober is killed and restarted', async () => {
  let requests = 0;
  let onRequest: () => void = () => undefined;
  const port = await serveHttp((_request, response) => {
    requests += 1;
    response.end();
    onRequest();
  });
  const ref = { uid: 'a', name: 'web', namespace: 'default' };
  const readinessProbe = { httpGet: { port }, periodSeconds: 1 };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: ref, spec: { containers: [{ name: 'app', readinessProbe }] } };
  const work: PodWork = {
    ...{ ref, pod, work: 'sync', source: 'file', reason: 'test' },
    ...{ worker: 'pod-workers-0', firstSeen: '2030-01-01T00:00:00Z' },
  };
  const at = `${Math.round(clock.now())}000000`;
  const container = {
    ...{ id: 'c', name: 'app', attempt: 0, sandboxId: 's', state: 'running' as const, createdAt: at, startedAt: at },
    ...{ finishedAt: '0', exitCode: 0, reason: '', message: '', logPath: '', annotations: {} },
    ...{ image: 'i', imageRef: 'i', imageId: 'i' },
  };
  const sandbox = { id: 's', attempt: 0, ready: true, createdAt: at, ips: ['127.0.0.1'], runtimeHandler: '' };
  const works = (await joinBus('sync-loop')).owner(podWork);
  works.put('a', work, { pod: 'a' });
  works.complete();
  const runtimes = (await joinBus('cri-bridge')).owner(runtimePod);
  const stamp = { epoch: 1, counter: 1 };
  runtimes.put('a', { ref, stamp, sandboxes: [sandbox], containers: [container] }, { pod: 'a' });

  const seen: Fact<PodProbes>[] = [];
  let look: () => void = () => undefined;
  const cli = await joinBus('cli');
  cli.reader(podProbes, {
    changed: (fact) => {
      seen.push(fact);
      look();
    },
  });
  const instances = cli.reader(serviceInstance, { changed: () => look() });
  const until = async (found: () => boolean): Promise<void> => {
    while (!found()) await new Promise<void>((resolve) => (look = resolve));
  };
  const readiness = (fact: Fact<PodProbes> | undefined) => fact?.value.containers['c']?.readiness;

  start();
  await until(() => readiness(seen.at(-1)) === 'success');
  const first = seen.at(-1)?.epoch ?? 0;
  await kill();
  const before = seen.length;
  requests = 0;
  const probedAgain = new Promise<void>((resolve) => (onRequest = resolve));
  start();
  await probedAgain;
  await until(() => seen.some(({ epoch }) => epoch > first));
  expect(requests).toBeGreaterThan(0);
  expect(seen.slice(before).map(readiness)).toEqual(['success']);

  await until(() => (instances.get('prober-0')?.value.epoch ?? 0) > first);
  const http = instances.get('prober-0')?.value.http ?? '';
  const metrics = await (await fetch(`http://${http}/metrics`)).text();
  expect(metrics).toMatch(/^prober_probe_total\{probe_type="Readiness",.*result="successful"/m);
});
