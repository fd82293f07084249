import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Bus, type FactReader } from '@kubus/bus';
import { NatsTransport } from '@kubus/bus-nats';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import {
  type PodUpdate,
  type ServiceName,
  clusterNode,
  configuredSources,
  desiredPods,
  serviceContracts,
  serviceNames,
} from '@kubus/contracts';
import { type KubeObject, TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { silentLogger } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE = 'n';
const identities = serviceNames.map((service) => ({ service, instance: `${service}-0` }));
const server = new TestNatsServer();
const open: NatsConnection[] = [];
let api: TestApiServer;
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
  const ports = { clock: systemClock, ids: systemIds, logger: silentLogger };
  const transport = new NatsTransport({ connection: made, node: NODE, instance, ...ports });
  return new Bus({ node: NODE, service, instance, epoch: 1, contract: serviceContracts[service], transport, ...ports });
}

/** What a reader of the bus receives of the API server's pods. */
class Reader {
  readonly log: string[] = [];
  readonly epochs: number[] = [];
  readonly pods: FactReader<PodUpdate>;
  /** The epoch of config-sources that has published last. */
  life = 0;
  #look: () => void = () => undefined;

  constructor(bus: Bus) {
    const received = (line: string) => {
      this.log.push(line);
      this.#look();
    };
    this.pods = bus.reader(desiredPods.api, {
      changed: ({ value }) => received(`${value.operation} ${value.pod.metadata.name}`),
      removed: ({ value }) => received(`gone ${value.pod.metadata.name}`),
      complete: (_, epoch) => {
        this.epochs.push(epoch);
        received('complete');
      },
    });
    bus.reader(configuredSources, {
      changed: ({ epoch, value }) => {
        this.life = epoch;
        expect(value.sources).toEqual(['api']);
        this.#look();
      },
    });
  }

  async until(found: () => boolean): Promise<void> {
    while (!found()) await new Promise<void>((resolve) => (this.#look = resolve));
  }

  get names(): string[] {
    return [...this.pods].map(({ value }) => value.pod.metadata.name).sort();
  }

  pod(name: string) {
    return [...this.pods].find(({ value }) => value.pod.metadata.name === name)?.value.pod;
  }

  takeLog(): string[] {
    return this.log.splice(0);
  }
}

let reader: Reader;

beforeAll(async () => {
  await server.start(NODE, serviceContracts, identities);
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-config-'));
  await server.kill();
  await server.restart();
  await server.makeStreams();
  api = await TestApiServer.start();
  const seed = server.identities.get('config-sources-0')?.seed ?? '';
  await writeFile(join(folder, 'config-sources-0.nk'), seed, { mode: 0o600 });
  const config = {
    ...{ node: NODE, nats: { url: server.url, identities: folder }, state: join(folder, 'state') },
    ...{ runtime: { socket: '' }, pods: { root: folder, logs: folder } },
    network: { configDir: folder, pluginDirs: [folder], socket: '' },
    apiServer: { kubeconfig: await api.kubeconfig(nodeUser(NODE), 'certificate'), certDir: folder },
  };
  await writeFile(join(folder, 'node.json'), JSON.stringify(config));
  reader = new Reader(await joinBus('sync-loop'));
});

afterEach(async () => {
  await kill();
  for (const one of open.splice(0)) await one.close();
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

afterAll(() => server.stop());

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

/** Publishes the Node object as node-agent does once it has read it. */
async function publishNode(): Promise<void> {
  const nodes = (await joinBus('node-agent')).owner(clusterNode);
  nodes.put(NODE, {
    ...{ name: NODE, uid: 'u', resourceVersion: '1', labels: {}, annotations: {}, taints: [], unschedulable: false },
    ...{
      podCIDRs: [],
      addresses: [],
      capacity: {},
      allocatable: {},
      deleting: false,
      volumesInUse: [],
      volumesAttached: [],
    },
  });
  nodes.complete();
}

function createPod(name: string, node = NODE): KubeObject {
  const spec = { nodeName: node, containers: [{ name: 'c', image: 'i' }] };
  return api.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec });
}

function label(name: string, value: string): void {
  api.patch({ kind: 'Pod', name }, { metadata: { labels: { value } } });
}

const asksForPods = ({ path }: { path: string }) => path.startsWith('/api/v1/pods');

test('once the Node object is known, the pods of this node are published, updated and removed', async () => {
  createPod('a');
  createPod('elsewhere', 'other');
  start();
  await reader.until(() => reader.life === 1);
  expect(api.requests.filter(asksForPods)).toEqual([]);

  await publishNode();
  await reader.until(() => reader.log.includes('complete'));
  expect(reader.takeLog()).toEqual(['ADD a', 'complete']);
  const first = reader.pod('a');
  expect(first).toMatchObject({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { uid: api.get({ kind: 'Pod', name: 'a' })?.metadata.uid },
  });

  createPod('elsewhere-too', 'other');
  createPod('b');
  await reader.until(() => reader.names.includes('b'));
  label('elsewhere', '1');
  label('a', '1');
  api.patch({ kind: 'Pod', name: 'b' }, { status: { phase: 'Running' } }, { subresource: 'status' });
  api.patch({ kind: 'Pod', name: 'a' }, { metadata: { managedFields: [{ manager: 'm' }], labels: { value: '2' } } });
  await reader.until(() => reader.pod('a')?.metadata.labels?.['value'] === '2');
  api.delete({ kind: 'Pod', name: 'b' });
  await reader.until(() => reader.log.at(-1) === 'DELETE b');
  api.delete({ kind: 'Pod', name: 'b' }, { graceSeconds: 0 });
  await reader.until(() => reader.log.at(-1) === 'gone b');
  // The end of its grace period is published once more if the pod still exists by then.
  const log = reader.takeLog().filter((line, index, all) => line !== all[index - 1]);
  expect(log).toEqual(['ADD b', 'UPDATE a', 'RECONCILE b', 'UPDATE a', 'DELETE b', 'gone b']);
  const annotations = { 'kubernetes.io/config.seen': first?.metadata.annotations?.['kubernetes.io/config.seen'] };
  expect(reader.pod('a')?.metadata).toMatchObject({ annotations });
  expect(JSON.stringify([...reader.pods])).not.toContain('managedFields');
});

test('nothing is removed while the API server is unreachable; afterwards the pods match the server', async () => {
  for (const name of ['stays', 'changes', 'goes']) createPod(name);
  await publishNode();
  start();
  await reader.until(() => reader.log.includes('complete'));

  await api.pause();
  api.delete({ kind: 'Pod', name: 'goes' }, { graceSeconds: 0 });
  label('changes', '1');
  createPod('comes');
  api.compact();
  await kill();
  start();
  await reader.until(() => reader.life === 2);
  expect(reader.names).toEqual(['changes', 'goes', 'stays']);
  expect(reader.takeLog()).not.toContain('gone goes');
  expect(reader.epochs).toEqual([1]);

  // Answers of a server that is starting up.
  api.inject({ when: asksForPods, fault: { kind: 'answer', code: 503 }, times: 1 });
  api.inject({ when: asksForPods, fault: { kind: 'reset', after: 'effect' }, times: 1 });
  await api.resume();
  await reader.until(() => reader.epochs.includes(2));
  expect(reader.names).toEqual(['changes', 'comes', 'stays']);
  expect(reader.pod('changes')?.metadata.labels).toEqual({ value: '1' });
});

test('thousands of updates with broken watches and expired resource versions converge on the last one', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `p${index}`);
  for (const name of names) createPod(name);
  await publishNode();
  start();
  await reader.until(() => reader.log.includes('complete'));
  for (let round = 1; round <= 50; round++) {
    for (const name of names) label(name, String(round));
    if (round === 20) for (const watch of api.watches) watch.cut();
    if (round === 30) {
      api.compact();
      for (const watch of api.watches) watch.expire();
    }
    if (round === 40) for (const watch of api.watches) watch.end();
    await new Promise(setImmediate);
  }
  const values = () => [...reader.pods].map(({ value }) => value.pod.metadata.labels?.['value']);
  await reader.until(() => values().every((value) => value === '50'));
  expect(reader.names).toEqual([...names].sort());
  expect(reader.log.filter((line) => !line.startsWith('UPDATE') && !line.startsWith('ADD'))).toEqual(['complete']);
});
