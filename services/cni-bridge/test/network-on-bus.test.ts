// When the bridge looks at its attachments: a bus inside of the test, plugins that only count.
import { beforeEach, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import type { FactOwner } from '@kubus/bus';
import type { PluginCall, PluginOutput, PluginRunner } from '@kubus/cni-config';
import { type RuntimePod, runtimePod } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import { NetworkOnBus } from '../src/index.ts';

const TEN_MINUTES = 600_000;

let clock: ManualClock;
let broker: LocalBroker;
let pods: FactOwner<RuntimePod>;
let runs: string[];
let network: NetworkOnBus;

beforeEach(async () => {
  clock = new ManualClock();
  broker = new LocalBroker('node0');
  pods = broker.join('cri-bridge', clock).bus.owner(runtimePod);
  runs = [];
  const plugins: PluginRunner = {
    run: ({ type, env }: PluginCall): Promise<PluginOutput> => {
      runs.push(`${env['CNI_COMMAND'] ?? ''} ${type} ${env['CNI_CONTAINERID'] ?? ''}`);
      const stdout = env['CNI_COMMAND'] === 'ADD' ? '{"cniVersion":"1.0.0","ips":[{"address":"10.0.0.2/24"}]}' : '';
      return Promise.resolve({ exitCode: 0, stdout, stderr: '' });
    },
    endStrays: () => Promise.resolve(0),
  };
  const { bus } = broker.join('cni-bridge', clock);
  network = new NetworkOnBus({ bus, clock, logger: silentLogger, journal: new MemoryRecords(), plugins, limits: {} });
  const content = JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'it' }] });
  network.bridge.useFiles([{ name: '10.conflist', content }]);
  await network.bridge.recover();
  for (const id of ['live', 'gone']) {
    await network.bridge.handle({
      command: 'ADD',
      containerId: id,
      netns: '/run/netns/a',
      ifname: 'eth0',
      args: '',
      path: '',
      stdin: '{"cniVersion":"1.0.0"}',
      name: 'kubus-cni',
    });
  }
  runs.length = 0;
});

function tell(...sandboxes: string[]): void {
  const ref = { namespace: 'default', name: 'a', uid: 'a' };
  pods.put('a', {
    ref,
    stamp: { epoch: 1, counter: 1 },
    sandboxes: sandboxes.map((id) => ({ id, attempt: 0, ready: true, createdAt: '0', ips: [], runtimeHandler: '' })),
    containers: [],
  });
}

test('once the runtime’s list is whole and every ten minutes: what is gone is removed, the rest checked', async () => {
  tell('live', 'gone');
  await clock.advance(TEN_MINUTES);
  expect(runs).toEqual([]);

  pods.complete();
  await clock.advance(0);
  await settled();
  expect(runs.splice(0)).toEqual(['CHECK it live', 'CHECK it gone']);

  tell('live');
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

test('a restarted cri-bridge tells of all pods again: what is gone is removed, but nothing is checked once more', async () => {
  tell('live', 'gone');
  pods.complete();
  await clock.advance(300_000);
  runs.length = 0;
  pods = broker.join('cri-bridge', clock, 2).bus.owner(runtimePod);
  tell('live');
  pods.complete();
  await clock.advance(0);
  await settled();
  expect(runs).toEqual(['DEL it gone']);
  network.stop();
});
