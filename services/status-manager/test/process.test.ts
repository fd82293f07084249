import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Bus } from '@kubus/bus';
import { NatsTransport } from '@kubus/bus-nats';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import {
  type PodEvent,
  type ServiceName,
  desiredPods,
  podEvent,
  podRefOf,
  podSchema,
  podStatus,
  podWorker,
  serviceContracts,
  serviceInstance,
  serviceNames,
} from '@kubus/contracts';
import { TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { silentLogger } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE = 'n1';
const nats = new TestNatsServer();
const open: NatsConnection[] = [];
let server: TestApiServer;
let folder: string;
let child: ChildProcess | undefined;

async function connection(service: ServiceName): Promise<NatsConnection> {
  const made = await nats.connect(`${service}-0`);
  open.push(made);
  return made;
}

async function joinBus(service: ServiceName): Promise<Bus> {
  const instance = `${service}-0`;
  const ports = { clock: systemClock, ids: systemIds, logger: silentLogger };
  const transport = new NatsTransport({ connection: await connection(service), node: NODE, instance, ...ports });
  return new Bus({ node: NODE, service, instance, epoch: 1, contract: serviceContracts[service], transport, ...ports });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-status-manager-'));
  server = await TestApiServer.start();
  const identities = serviceNames.map((service) => ({ service, instance: `${service}-0` }));
  await nats.start(NODE, serviceContracts, identities);
  await nats.makeStreams();
  const seed = nats.identities.get('status-manager-0')?.seed ?? '';
  await writeFile(join(folder, 'status-manager-0.nk'), seed, { mode: 0o600 });
  const config = {
    ...{ node: NODE, nats: { url: nats.url, identities: folder }, state: join(folder, 'state') },
    ...{ manifests: { path: folder }, runtime: { socket: '' }, pods: { root: folder, logs: folder } },
    network: { configDir: folder, pluginDirs: [folder], socket: '' },
    apiServer: { kubeconfig: await server.kubeconfig(nodeUser(NODE), 'certificate'), certDir: folder },
  };
  await writeFile(join(folder, 'node.json'), JSON.stringify(config));
});

afterAll(async () => {
  await kill();
  for (const one of open.splice(0)) await one.close();
  await nats.stop();
  await server.close();
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

test('killed during a write of a status, it continues after a restart without repeating any write', async () => {
  const target = { kind: 'Pod', name: 'web' };
  const spec = { nodeName: NODE, containers: [{ name: 'c', image: 'i' }] };
  const pod = podSchema.parse(server.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec }));
  const ref = podRefOf(pod);
  const api = (await joinBus('config-sources')).owner(desiredPods.api);
  api.put(ref.uid, { operation: 'ADD', source: 'api', pod }, { pod: ref.uid });
  api.complete();
  const workers = await joinBus('pod-workers');
  const [states, statuses] = [workers.owner(podWorker), workers.owner(podStatus)];
  const since = '2030-01-01T00:00:00Z';
  states.put(ref.uid, { ref, state: 'syncing', since }, { pod: ref.uid });
  const status = (message: string) => ({ ref, status: { phase: 'Running', message } });
  statuses.put(ref.uid, status('one'), { pod: ref.uid });
  const event: PodEvent = {
    ...{ ref, type: 'Normal', reason: 'Started', message: 'Container started', count: 1 },
    ...{ firstTimestamp: since, lastTimestamp: since, series: 'pod-workers-0.1.1' },
  };

  let look: () => void = () => undefined;
  const instances = (await joinBus('cli')).reader(serviceInstance, { changed: () => look() });
  const life = async (after: number): Promise<number> => {
    const epoch = () => instances.get('status-manager-0')?.value.epoch ?? 0;
    while (epoch() <= after) await new Promise<void>((resolve) => (look = resolve));
    return epoch();
  };

  start();
  const first = await life(0);
  await server.waitFor(target, (one) => one.status?.['message'] === 'one');
  workers.emit(podEvent, ref.uid, event);
  await server.waitForRequest(
    ({ verb, plural, status: code }) => verb === 'create' && plural === 'events' && code === 201,
  );

  // From now on writes get no answer in this process.
  server.inject({ when: ({ verb }) => verb === 'patch', fault: { kind: 'silence', after: 'effect' }, times: 1 });
  statuses.put(ref.uid, status('two'), { pod: ref.uid });
  await server.waitFor(target, (one) => one.status?.['message'] === 'two');
  await kill();
  statuses.put(ref.uid, status('three'), { pod: ref.uid });
  start();
  await life(first);
  await server.waitFor(target, (one) => one.status?.['message'] === 'three');
  workers.emit(podEvent, ref.uid, { ...event, count: 2 });
  await server.waitForRequest(
    ({ verb, plural, status: code }) => verb === 'patch' && plural === 'events' && code === 200,
  );

  const writes = server.requests.map(({ verb, plural }) => `${verb} ${plural}`);
  expect(writes).toEqual(['patch pods', 'create events', 'patch pods', 'patch pods', 'patch events']);
  expect(server.list('Event')).toMatchObject([{ count: 2, involvedObject: { name: 'web', uid: ref.uid } }]);

  const http = instances.get('status-manager-0')?.value.http ?? '';
  const metrics = await (await fetch(`http://${http}/metrics`)).text();
  expect(metrics).toMatch(/^kubus_status_events_total\{.*outcome="written".*\} 1$/m);
});
