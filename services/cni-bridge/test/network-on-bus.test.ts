// When the bridge checks its attachments, and what it publishes about them: a bus within the test, plugins that only
// count calls.
import { beforeEach, expect, test } from '@jest/globals';
import { LocalBroker, type LocalMember } from '@kubus/bus/testing';
import { type FactOwner, HEADER, decodeEnvelope, formatCause } from '@kubus/bus';
import type { PluginCall, PluginOutput, PluginRunner } from '@kubus/cni-config';
import { type PodNetwork, type RuntimePod, SANDBOX_CAUSE, clusterNode, podNetwork, runtimePod } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import { NetworkOnBus } from '../src/index.ts';

const TEN_MINUTES = 600_000;
const RESULT = JSON.stringify({
  cniVersion: '1.0.0',
  interfaces: [{ name: 'eth0', mac: '02:00:00:00:00:02', sandbox: '/run/netns/a' }],
  ips: [{ address: '10.0.0.2/24', gateway: '10.0.0.1', interface: 0 }],
  routes: [{ dst: '0.0.0.0/0' }],
});

let clock: ManualClock;
let broker: LocalBroker;
let pods: FactOwner<RuntimePod>;
let runs: string[];
/** Plugin calls that fail, in the form in which `runs` records them. */
let failing: ReadonlySet<string>;
/** The pods' networks as other services know them. */
let networks: Map<string, PodNetwork>;
let network: NetworkOnBus;
/** The bridge's connection to the bus. */
let life: LocalMember;
let journal: MemoryRecords;

beforeEach(async () => {
  clock = new ManualClock();
  broker = new LocalBroker('node0');
  pods = broker.join('cri-bridge', clock).bus.owner(runtimePod);
  runs = [];
  journal = new MemoryRecords();
  failing = new Set();
  const plugins: PluginRunner = {
    run: ({ type, env }: PluginCall): Promise<PluginOutput> => {
      const run = `${env['CNI_COMMAND'] ?? ''} ${type} ${env['CNI_CONTAINERID'] ?? ''}`;
      runs.push(run);
      if (failing.has(run)) return Promise.resolve({ exitCode: 1, stdout: '{"code":100,"msg":"lost"}', stderr: '' });
      const stdout = env['CNI_COMMAND'] === 'ADD' ? RESULT : '';
      return Promise.resolve({ exitCode: 0, stdout, stderr: '' });
    },
    endStrays: () => Promise.resolve(0),
  };
  networks = new Map();
  broker.join('cli', clock).bus.reader(podNetwork, {
    changed: ({ key, value }) => networks.set(key, value),
    removed: ({ key }) => networks.delete(key),
  });
  life = broker.join('cni-bridge', clock);
  const { bus } = life;
  network = new NetworkOnBus({ bus, clock, logger: silentLogger, journal, plugins, limits: {} });
  const content = JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'it' }] });
  network.bridge.useFiles([{ name: '10.conflist', content }]);
  await network.recover();
  for (const id of ['live', 'gone']) {
    await network.bridge.handle({
      command: 'ADD',
      containerId: id,
      netns: '/run/netns/a',
      ifname: 'eth0',
      args: `K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod-${id};K8S_POD_UID=${id}`,
      path: '',
      stdin: '{"cniVersion":"1.0.0"}',
      name: 'kubus-cni',
    });
  }
  runs.length = 0;
});

function publishSandboxes(...sandboxes: string[]): void {
  const ref = { namespace: 'default', name: 'a', uid: 'a' };
  pods.put('a', {
    ref,
    stamp: { epoch: 1, counter: 1 },
    sandboxes: sandboxes.map((id) => ({ id, attempt: 0, ready: true, createdAt: '0', ips: [], runtimeHandler: '' })),
    containers: [],
  });
}

test('once the runtime’s list is complete and every ten minutes, unused attachments are removed and the others checked', async () => {
  publishSandboxes('live', 'gone');
  await clock.advance(TEN_MINUTES);
  expect(runs).toEqual([]);

  pods.complete();
  await clock.advance(0);
  await settled();
  expect(runs.splice(0)).toEqual(['CHECK it live', 'CHECK it gone']);

  publishSandboxes('live');
  await clock.advance(TEN_MINUTES);
  await settled();
  expect(runs.splice(0)).toEqual(['DEL it gone', 'CHECK it live']);

  await clock.advance(TEN_MINUTES);
  await settled();
  expect(runs.splice(0)).toEqual(['CHECK it live']);
  network.stop();
  await clock.advance(TEN_MINUTES);
  expect(runs).toEqual([]);
});

test('the states of pods are read when unused attachments are looked for, not with each change', async () => {
  const invalid: unknown = { ref: 'a' };
  pods.put('b', invalid as RuntimePod);
  publishSandboxes('live');
  await settled();
  expect(life.bus.refused).toBe(0);
  pods.complete();
  await clock.advance(0);
  await settled();
  expect(life.bus.refused).toBe(1);
  network.stop();
});

test('when a restarted cri-bridge publishes all pods again, unused attachments are removed without another check', async () => {
  publishSandboxes('live', 'gone');
  pods.complete();
  await clock.advance(300_000);
  runs.length = 0;
  pods = broker.join('cri-bridge', clock, 2).bus.owner(runtimePod);
  publishSandboxes('live');
  pods.complete();
  await clock.advance(0);
  await settled();
  expect(runs).toEqual(['DEL it gone']);
  network.stop();
});

test('each pod’s network is a fact from its ADD to its DEL, including problems found by a check', async () => {
  publishSandboxes('live', 'gone');
  const attachment = {
    containerId: 'gone',
    ifname: 'eth0',
    network: 'pods',
    plugins: ['it'],
    since: '2030-01-01T00:00:00.000Z',
    interfaces: [{ name: 'eth0', mac: '02:00:00:00:00:02', sandbox: '/run/netns/a' }],
    ips: [{ address: '10.0.0.2/24', gateway: '10.0.0.1', interface: 0 }],
    routes: [{ dst: '0.0.0.0/0' }],
    dns: {},
  };
  expect([...networks.keys()]).toEqual(['live', 'gone']);
  expect(networks.get('gone')).toEqual({
    ref: { namespace: 'default', name: 'pod-gone', uid: 'gone' },
    attachments: [attachment],
  });

  failing = new Set(['CHECK it gone', 'DEL it gone']);
  pods.complete();
  await clock.advance(0);
  await settled();
  expect(networks.get('gone')?.attachments).toEqual([{ ...attachment, problem: 'plugin it failed (CHECK): lost' }]);
  expect(networks.get('live')?.attachments[0]).not.toHaveProperty('problem');

  publishSandboxes('live');
  await clock.advance(TEN_MINUTES);
  await settled();
  expect(networks.get('gone')?.attachments[0]?.problem).toBe('plugin it failed (DEL): lost');
  failing = new Set();
  await clock.advance(TEN_MINUTES);
  await settled();
  expect([...networks.keys()]).toEqual(['live']);
  network.stop();
});

test('a restarted bridge publishes the networks of the previous process and removes facts of deleted ones', async () => {
  const { bus } = broker.join('cni-bridge', clock, 2);
  const runner: PluginRunner = { run: () => Promise.reject(new Error('none')), endStrays: () => Promise.resolve(0) };
  network.stop();
  life.leave();
  await journal.delete('gone:eth0');
  await new NetworkOnBus({ bus, clock, logger: silentLogger, journal, plugins: runner, limits: {} }).recover();
  await settled();
  expect([...networks.keys()]).toEqual(['live']);
});

test('plugins that declare ipRanges get the Node’s podCIDRs, or those of the configuration if the Node has none', async () => {
  let given = '';
  const configured = new NetworkOnBus({
    ...{ bus: broker.join('cni-bridge', clock, 2).bus, clock, logger: silentLogger, journal: new MemoryRecords() },
    plugins: {
      run: ({ stdin }) => {
        given = stdin;
        return Promise.resolve({ exitCode: 0, stdout: RESULT, stderr: '' });
      },
      endStrays: () => Promise.resolve(0),
    },
    ...{ limits: {}, podCidrs: ['10.9.0.0/24'] },
  });
  const plugins = [{ type: 'it', capabilities: { ipRanges: true } }];
  const content = JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins });
  configured.bridge.useFiles([{ name: '10.conflist', content }]);
  await configured.recover();
  const nodes = broker.join('node-agent', clock).bus.owner(clusterNode);
  const subnets = async (podCIDRs: string[]) => {
    nodes.put('node0', {
      ...{
        name: 'node0',
        uid: 'n',
        resourceVersion: '1',
        labels: {},
        annotations: {},
        taints: [],
        unschedulable: false,
      },
      ...{
        podCIDRs,
        addresses: [],
        capacity: {},
        allocatable: {},
        volumesInUse: [],
        volumesAttached: [],
        deleting: false,
      },
    });
    await settled();
    await configured.bridge.handle({
      ...{
        command: 'ADD',
        containerId: `c${podCIDRs.length}`,
        netns: '/run/netns/a',
        ifname: 'eth0',
        args: '',
        path: '',
      },
      ...{ stdin: '{"cniVersion":"1.0.0"}', name: 'kubus-cni' },
    });
    const { runtimeConfig } = JSON.parse(given) as { runtimeConfig: { ipRanges: { subnet: string }[][] } };
    return runtimeConfig.ipRanges.flat().map(({ subnet }) => subnet);
  };
  expect(await subnets(['10.1.0.0/24', 'fd01::/64'])).toEqual(['10.1.0.0/24', 'fd01::/64']);
  expect(await subnets([])).toEqual(['10.9.0.0/24']);
  configured.stop();
});

test('messages about a sandbox’s network name the command that created the sandbox as their cause, also after restarts', async () => {
  const command = { id: 'pod-workers-0.1.7', traceId: '1'.repeat(32), spanId: '2'.repeat(16) };
  const annotations = { [SANDBOX_CAUSE]: formatCause(command) };
  const call = {
    ...{ containerId: 'traced', netns: '/run/netns/a', ifname: 'eth0', path: '' },
    args: 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod-traced;K8S_POD_UID=traced',
  };
  const withPod = JSON.stringify({
    cniVersion: '1.0.0',
    runtimeConfig: { 'io.kubernetes.cri.pod-annotations': annotations },
  });
  const messages = () =>
    broker.said
      .filter(({ headers }) => headers[HEADER.pod] === 'traced')
      .map(({ headers, data }) => ({ ...decodeEnvelope(headers), data }))
      .map(({ type, causes, received, cause, data }) => ({
        ...{ type, causes, received, id: cause.id, traceId: cause.traceId },
        payload: (data === '' ? undefined : JSON.parse(data)) as unknown,
      }));
  await network.bridge.handle({ ...call, command: 'ADD', stdin: withPod, name: 'kubus-cni' });
  // The runtime passes no annotations to its own loopback plugin.
  await network.bridge.handle({
    ...call,
    command: 'ADD',
    ifname: 'lo',
    stdin: '{"cniVersion":"1.0.0"}',
    name: 'loopback',
  });
  const [run, fact, loopback, ...others] = messages();
  expect(others).toEqual([]);
  expect(run).toMatchObject({
    ...{ type: 'network.event.plugin/1', causes: [command.id], traceId: command.traceId },
    received: '2030-01-01T00:00:00.000000Z',
    payload: { command: 'ADD', plugin: 'it', what: 'end', durationMs: 0, ips: ['10.0.0.2'] },
  });
  expect(fact).toMatchObject({ type: 'network.fact.pod/1', causes: [run?.id] });
  expect(loopback).toMatchObject({ type: 'network.event.plugin/1', causes: [command.id] });

  life.leave();
  network.stop();
  life = broker.join('cni-bridge', clock, 2);
  broker.said.length = 0;
  const plugins: PluginRunner = {
    run: () => Promise.resolve({ exitCode: 0, stdout: '', stderr: '' }),
    endStrays: () => Promise.resolve(0),
  };
  const again = new NetworkOnBus({ bus: life.bus, clock, logger: silentLogger, journal, plugins, limits: {} });
  const content = JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'it' }] });
  again.bridge.useFiles([{ name: '10.conflist', content }]);
  await again.recover();
  await again.bridge.handle({ ...call, command: 'DEL', stdin: '{"cniVersion":"1.0.0"}', name: 'kubus-cni' });
  const [known, removal] = messages();
  expect(known).toMatchObject({ type: 'network.fact.pod/1', causes: [command.id] });
  expect(removal).toMatchObject({ type: 'network.event.plugin/1', causes: [command.id] });
  again.stop();
});
