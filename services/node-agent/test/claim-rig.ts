import { afterEach, beforeEach, expect } from '@jest/globals';
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
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClaimService } from '../src/claims/claim-service.ts';
import { EndedPods } from '../src/devices/ended-pods.ts';
import { type ExampleDriver, startExampleDriver } from './example-driver.ts';

/** The name of the driver in tests. */
export const DRIVER = 'devices.test';

/**
 * Tests of resource claims: the example driver as a process, a test API server, a bus in this process, and a clock that only the test
 * advances. Called once by a file, before its tests.
 */
export function claimRig() {
  let dir: string;
  let clock: ManualClock;
  let broker: LocalBroker;
  let server: TestApiServer;
  let asking: Bus;
  let workers: FactOwner<PodWorkerReport>;
  const uses = new Map<string, ClaimUse>();
  const changes = new Conditions();
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
    uses.clear();
    [epoch, life, drivers] = [0, undefined, []];
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
    const service = await ClaimService.start(context, { client, ended: new EndedPods(member.bus, clock) });
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
  return {
    ...{ uses, changes, start, stop, startDriver, endDriver, allocate, prepare, unprepare },
    ...{ refusal, books, checkpoint, worker, ended, untilMissing },
    /** A file or folder of the node. */
    path: (name: string) => join(dir, name),
    /** The text of the service's metrics. */
    measured: async () => (await metrics.write()).text,
    /** No service knows the pod any more: it was deleted by force. */
    forceDelete: (pod: string) => workers.remove(pod, { pod }),
    /** The processes of the driver, in the order in which they were started. */
    driver: (index: number) => drivers[index],
    get clock() {
      return clock;
    },
    get server() {
      return server;
    },
  };
}
