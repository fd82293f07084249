import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type Pod, allocateDevices, podWork } from '@kubus/contracts';
import { pod } from '@kubus/pod-lifecycle/testing';
import { KubusError } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { NODE, startLoop } from './started-loop.ts';

function podOf(uid: string, cpu: string): Pod {
  const amounts = { cpu, memory: '1Gi' };
  return pod({ containers: [{ name: 'c', resources: { limits: amounts, requests: amounts } }] }, { uid, name: uid });
}

/** Admits pods of one CPU, `odd` of which node-agent refuses, and one that shares. Returns what becomes of them, and of which it was asked. */
async function admitted(exclusive: { cpus: boolean; memory: boolean }) {
  const clock = new ManualClock(Date.UTC(2030, 0, 1));
  const broker = new LocalBroker(NODE);
  const works: Record<string, unknown> = {};
  broker.join('pod-workers', clock).bus.reader(podWork, {
    changed: ({ key, value }) => void (works[key] = value.failure ?? value.work),
  });
  const asked: Record<string, unknown> = {};
  broker.join('node-agent', clock).bus.serve(allocateDevices, ({ key, request }) => {
    asked[key] = request.exclusive;
    const refused = new KubusError('SMTAlignmentError', 'not a multiple');
    return key === 'odd' ? Promise.reject(refused) : Promise.resolve({ containers: {} });
  });
  const pods = [podOf('one', '1'), podOf('odd', '1'), podOf('shares', '100m')];
  const { loop } = await startLoop(broker, clock, pods, { exclusive });
  for (let i = 0; i < 20; i++) await settled();
  loop.stop();
  return { works, asked };
}

const wanted = [{ name: 'c', kind: 'app', cpus: 1, memory: { memory: 1024 ** 3 } }];
const failure = { reason: 'SMTAlignmentError', message: 'not a multiple' };

test('a pod that gets CPUs for itself starts after node-agent has given them, or is refused with its reason', async () => {
  const { works, asked } = await admitted({ cpus: true, memory: false });
  expect(asked).toEqual({ one: wanted, odd: wanted });
  expect(works).toMatchObject({ one: 'sync', odd: failure });
});

test('nothing is asked on a node that gives none', async () => {
  const { works, asked } = await admitted({ cpus: false, memory: false });
  expect(asked).toEqual({});
  expect(works).toMatchObject({ one: 'sync', odd: 'sync' });
});
