// Resource claims of pods: the example driver as a process, a test API server, a bus in this process, and a clock that only the test advances.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Bus, CommandFailed, type FactOwner } from '@kubus/bus';
import { LocalBroker, type LocalMember } from '@kubus/bus/testing';
import {
  type ClaimUse,
  type PodWorkerReport,
  claimUse,
  configuredSources,
  desiredPods,
  podWork,
  podWorker,
  prepareClaims,
  unprepareClaims,
} from '@kubus/contracts';
import { KubeClient } from '@kubus/kube';
import { type JsonObject, TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { silentLogger } from '@kubus/ports';
import { Conditions, ManualClock } from '@kubus/ports/testing';
import { Metrics, type ServiceContext } from '@kubus/service-kit';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { ClaimService } from '../src/claims/claim-service.ts';
import { EndedPods } from '../src/devices/ended-pods.ts';
import { type ExampleDriver, startExampleDriver } from './example-driver.ts';

const DRIVER = 'devices.test';

let dir: string;
let clock: ManualClock;
let broker: LocalBroker;
let server: TestApiServer;
let asking: Bus;
let workers: FactOwner<PodWorkerReport>;
let uses: Map<string, ClaimUse>;
let changes: Conditions;
let metrics: Metrics;
let epoch: number;
let life: { service: ClaimService; client: KubeClient; member: LocalMember } | undefined;
/** The processes of the driver, in the order in which they were started. */
let drivers: ExampleDriver[];

beforeEach(async () => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-claims-')));
  mkdirSync(join(dir, 'root'));
  [clock, broker, server] = [
    new ManualClock(Date.UTC(2030, 0, 1)),
    new LocalBroker('node0'),
    await TestApiServer.start(),
  ];
  uses = new Map<string, ClaimUse>();
  [changes, epoch, life, drivers] = [new Conditions(), 0, undefined, []];
  const of = broker.join('pod-workers', clock).bus;
  asking = of;
  workers = of.owner(podWorker);
  const sources = broker.join('config-sources', clock).bus;
  sources.owner(configuredSources).put('sources', { sources: ['file'] });
  sources.owner(desiredPods.file).complete();
  broker.join('sync-loop', clock).bus.owner(podWork).complete();
  workers.complete();
  broker.join('node-api', clock).bus.reader(claimUse, {
    changed: ({ key, value }) => {
      uses.set(key, value);
      changes.changed();
    },
    removed: ({ key }) => {
      uses.delete(key);
      changes.changed();
    },
  });
});
afterEach(async () => {
  await stop();
  for (const driver of drivers) await endDriver('SIGKILL', driver);
  await server.close();
  rmSync(dir, { recursive: true });
});

/** Starts the service, or its next process. */
async function start(): Promise<void> {
  epoch += 1;
  const member = broker.join('node-agent', clock, epoch);
  const kubeconfig = await server.kubeconfig(nodeUser('node0'));
  const client = await KubeClient.open({ kubeconfig, userAgent: 'test', clock, logger: silentLogger });
  metrics = new Metrics({});
  const context = {
    config: { pods: { root: join(dir, 'root') } },
    ...{ bus: member.bus, clock, logger: silentLogger, metrics },
  } as unknown as ServiceContext;
  const service = await ClaimService.start(context, { client, ended: new EndedPods(member.bus) });
  life = { service, client, member };
}

async function stop(): Promise<void> {
  life?.member.leave();
  await life?.service.stop();
  await life?.client.close();
  life = undefined;
}

/** Starts the example driver; resolves when the node has registered it. */
async function startDriver(...more: readonly string[]): Promise<void> {
  const kubeconfig = await server.kubeconfig(nodeUser('node0'));
  const folders = ['--root', join(dir, 'root'), '--cdi', join(dir, 'cdi')];
  const of = ['--name', DRIVER, '--node', 'node0', '--kubeconfig', kubeconfig];
  const driver = startExampleDriver([...of, ...folders, ...more]);
  drivers.push(driver);
  await driver.registered;
}

async function endDriver(signal: 'SIGKILL' | 'SIGTERM', driver = drivers.at(-1)): Promise<void> {
  await driver?.end(signal);
}

/** A claim that is allocated, and reserved for pods. */
function allocate(name: string, devices: readonly string[], pods: readonly string[], drivers = [DRIVER]): string {
  const results = drivers.flatMap((of) =>
    devices.map((device) => ({ driver: of, request: 'r', pool: 'node0', device })),
  );
  const metadata = { name, namespace: 'default' };
  const { uid } = server.create({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata,
    spec: {},
  }).metadata;
  for (const pod of pods) worker(pod, 'syncing');
  const reservedFor = pods.map((pod) => ({ resource: 'pods', name: pod, uid: pod }));
  const status: JsonObject = { allocation: { devices: { results } }, reservedFor };
  server.patch({ kind: 'ResourceClaim', ...metadata }, { status }, { subresource: 'status' });
  return uid;
}

const refOf = (uid: string) => ({ uid, name: uid, namespace: 'default' });

async function prepare(pod: string, names: readonly string[], { started = false, owned = false } = {}) {
  const claims = names.map((claim) => ({ claim, owned }));
  const { result } = await asking.call(prepareClaims, pod, { ref: refOf(pod), claims, started });
  return result.claims.flatMap(({ drivers }) =>
    drivers.flatMap(({ devices }) => devices.flatMap((one) => one.cdiDevices)),
  );
}

const unprepare = (pod: string) => asking.call(unprepareClaims, pod, { ref: refOf(pod) });

async function refusal(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CommandFailed);
  return (error as CommandFailed).message;
}

/** What the driver has in its books, and what the runtime would find. */
function books() {
  const text = readFileSync(join(dir, 'root/plugins', DRIVER, 'prepared.json'), 'utf8');
  const { counts, claims } = JSON.parse(text) as { counts: object; claims: object };
  return { ...counts, claims: Object.keys(claims), files: readdirSync(join(dir, 'cdi')).length };
}

const checkpoint = () => readFileSync(join(dir, 'root/dra_manager_state'), 'utf8');
const worker = (pod: string, state: PodWorkerReport['state']) =>
  workers.put(pod, { ref: refOf(pod), state, since: '2030-01-01T00:00:00Z' }, { pod });
const ended = (pod: string) => worker(pod, 'terminated');

/** Resolves when the node knows that the driver of a prepared claim is gone. */
async function untilMissing(pod: string, claim: string): Promise<void> {
  for (;;) {
    const text = await prepare(pod, [claim]).then(String, String);
    if (text.includes('is not registered')) return;
  }
}

describe('a claim', () => {
  test('is prepared once for all pods that share it, and undone when the last one leaves', async () => {
    await start();
    await startDriver();
    const uid = allocate('shared', ['device-0', 'device-1'], ['one', 'two']);
    const names = [`${DRIVER}/claim=${uid}-device-0`, `${DRIVER}/claim=${uid}-device-1`];
    expect(await prepare('one', ['shared'])).toEqual(names);
    expect(await prepare('two', ['shared'])).toEqual(names);
    expect(await prepare('two', ['shared'], { started: true })).toEqual(names);
    expect(books()).toEqual({ prepared: 1, unprepared: 0, claims: [uid], files: 1 });
    expect(uses.get('two')?.claims.map((one) => one.name)).toEqual(['shared']);
    await unprepare('one');
    await unprepare('one');
    expect(books()).toMatchObject({ unprepared: 0, claims: [uid] });
    expect([...uses.keys()]).toEqual(['two']);
    await unprepare('two');
    expect(books()).toEqual({ prepared: 1, unprepared: 1, claims: [], files: 0 });
    expect([...uses.keys()]).toEqual([]);
  });

  test('is refused with the reason, and nothing is left to undo', async () => {
    await start();
    allocate('lonely', ['device-0'], ['one'], ['other.test']);
    const what = 'prepare dynamic resources: ';
    expect(await refusal(prepare('one', ['lonely']))).toBe(`${what}DRA driver other.test is not registered`);
    expect(await refusal(prepare('two', ['lonely']))).toMatch(
      /pod two \(two\) is not allowed to use ResourceClaim lonely/,
    );
    expect(await refusal(prepare('one', ['lonely'], { owned: true }))).toMatch(/was not created for Pod default\/one/);
    expect(await refusal(prepare('one', ['missing']))).toBe(
      `${what}fetch ResourceClaim missing: resourceclaims.resource.k8s.io "missing" not found`,
    );
    await unprepare('one');
    expect(existsSync(join(dir, 'root/dra_manager_state'))).toBe(false);
  });

  test('whose driver is away stays until the driver is back and has undone it', async () => {
    await start();
    await startDriver();
    const uid = allocate('gone', ['device-0'], ['one']);
    await prepare('one', ['gone']);
    await endDriver('SIGTERM');
    await untilMissing('one', 'gone');
    expect(await refusal(unprepare('one'))).toBe(`unprepare dynamic resources: DRA driver ${DRIVER} is not registered`);
    ended('one');
    await startDriver();
    await changes.until(() => !uses.has('one'));
    expect(books()).toEqual({ prepared: 1, unprepared: 1, claims: [], files: 0 });
    expect(checkpoint()).not.toContain(uid);
  });
});

describe('a restart between prepare and start', () => {
  test('of the node agent and the driver: the claim is known, and the driver has prepared it once', async () => {
    await start();
    await startDriver();
    const uid = allocate('kept', ['device-0'], ['one']);
    const names = await prepare('one', ['kept']);
    await stop();
    await endDriver('SIGKILL');
    await start();
    // A container starts although the driver is away.
    expect(await prepare('one', ['kept'], { started: true })).toEqual(names);
    expect(uses.get('one')?.claims.map((one) => one.uid)).toEqual([uid]);
    await startDriver();
    // A new sandbox asks the driver again: after a boot nothing may be left of what it prepared.
    expect(await prepare('one', ['kept'])).toEqual(names);
    expect(books()).toEqual({ prepared: 1, unprepared: 0, claims: [uid], files: 1 });
    ended('one');
    await changes.until(() => !uses.has('one'));
    expect(books()).toEqual({ prepared: 1, unprepared: 1, claims: [], files: 0 });
  });

  test('a claim that is in the checkpoint without an answer is undone when its pod is gone', async () => {
    await start();
    await startDriver();
    const uid = allocate('half', ['device-0'], ['one']);
    await prepare('one', ['half']);
    // As a node agent leaves it that was killed while the driver prepared the claim.
    const { Data: data } = JSON.parse(checkpoint()) as { Data: string };
    const half = data.replace(/"Devices":\[.*?\]\}\}/, '"Devices":null}}');
    expect(half).not.toBe(data);
    await stop();
    writeFileSync(join(dir, 'root/dra_manager_state'), JSON.stringify({ Data: half, Checksum: crc32(half) }));
    expect(books()).toMatchObject({ claims: [uid] });
    // No service knows the pod any more: it was deleted by force.
    workers.remove('one', { pod: 'one' });
    await start();
    await changes.until(() => uses.size === 0);
    expect(books()).toEqual({ prepared: 1, unprepared: 1, claims: [], files: 0 });
  });

  test('a damaged checkpoint stops the service: nobody would know what drivers have to undo', async () => {
    writeFileSync(join(dir, 'root/dra_manager_state'), '{"Data":"{}","Checksum":1}');
    await expect(start()).rejects.toThrow(
      /dra_manager_state: checkpoint is corrupted; drain the node and remove the file/,
    );
  });
});

const own = { kind: 'ResourceSlice', name: `node0-${DRIVER}` };

test('the slices of drivers that are not there are removed: at the start, and when one stays away', async () => {
  const slice = (of: string, nodeName = 'node0') => {
    const spec: JsonObject = {
      driver: of,
      nodeName,
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      devices: [],
    };
    server.create({
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name: `${nodeName}-${of}-old` },
      spec,
    });
  };
  slice('old.test');
  slice('old.test', 'other');
  const left = () =>
    server
      .list('ResourceSlice')
      .map(({ metadata }) => metadata.name)
      .toSorted();
  await start();
  await server.waitGone({ kind: 'ResourceSlice', name: 'node0-old.test-old' });
  expect(left()).toEqual(['other-old.test-old']);
  await startDriver();
  await server.waitFor(own, () => true);
  allocate('seen', ['device-0'], ['one']);
  await prepare('one', ['seen']);
  await endDriver('SIGTERM');
  await untilMissing('one', 'seen');
  await clock.advance(29_000);
  expect(server.get(own)).toBeDefined();
  await clock.advance(1_000);
  await server.waitGone(own);
  expect(left()).toEqual(['other-old.test-old']);
});

describe('a driver that was killed, whose sockets stay', () => {
  const isConnected = () => uses.get('one')?.claims[0]?.drivers[0]?.connected;

  test('counts as away: its slices go after the grace, and it is known again when it is back', async () => {
    await start();
    await startDriver();
    await server.waitFor(own, () => true);
    allocate('seen', ['device-0'], ['one']);
    await prepare('one', ['seen']);
    await changes.until(() => isConnected() === true);
    await endDriver('SIGKILL');
    await changes.until(() => isConnected() === false);
    expect((await metrics.write()).text).toContain(`dra_driver_processes{driver_name="${DRIVER}"} 0`);
    await clock.advance(29_000);
    expect(server.get(own)).toBeDefined();
    await clock.advance(1_000);
    await server.waitGone(own);
    await startDriver();
    await changes.until(() => isConnected() === true);
    await server.waitFor(own, () => true);
    await clock.advance(30_000);
    expect(server.get(own)).toBeDefined();
  });

  test('is replaced by its older process, which is there', async () => {
    await start();
    await startDriver();
    await startDriver('--instance', 'new');
    allocate('seen', ['device-0'], ['one']);
    await prepare('one', ['seen']);
    await endDriver('SIGKILL');
    allocate('later', ['device-1'], ['two']);
    // As pod-workers does until it succeeds: the node may not know yet that the newer process is gone.
    while (
      !(await prepare('two', ['later']).then(
        () => true,
        () => false,
      ))
    )
      continue;
    await endDriver('SIGTERM', drivers[0]);
    await changes.until(() => isConnected() === false);
  });
});

describe('the health of devices', () => {
  const health = () => uses.get('one')?.claims[0]?.drivers[0]?.devices.map((one) => [one.health, one.healthMessage]);
  const ill = (devices: Record<string, string>) =>
    writeFileSync(join(dir, 'root/plugins', DRIVER, 'health/ill.json'), JSON.stringify(devices));

  test('is what the driver reports, until it no longer does', async () => {
    await start();
    await startDriver();
    allocate('seen', ['device-0', 'device-1'], ['one']);
    await prepare('one', ['seen']);
    await changes.until(() => health()?.every(([state]) => state === 'Healthy') === true);
    ill({ 'device-1': 'too hot' });
    await changes.until(() => health()?.[1]?.[0] === 'Unhealthy');
    expect(health()).toEqual([
      ['Healthy', undefined],
      ['Unhealthy', 'too hot'],
    ]);
    expect(checkpoint()).not.toContain('Healthy');
    await endDriver('SIGKILL');
    await changes.until(() => health()?.every(([state]) => state === undefined) === true);
  });
});

test('the metrics have the names of the reference', async () => {
  await start();
  await startDriver();
  allocate('measured', ['device-0'], ['one']);
  await prepare('one', ['measured']);
  const { text } = await metrics.write();
  expect(text).toContain(`dra_resource_claims_in_use{driver_name="${DRIVER}"} 1`);
  expect(text).toContain('dra_operations_duration_seconds_count{operation_name="PrepareResources",is_error="false"} 1');
  expect(text).toMatch(/dra_grpc_operations_duration_seconds_count\{.*NodePrepareResources.*grpc_status_code="OK"\} 1/);
});
