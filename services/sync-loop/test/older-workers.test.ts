import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type LocalMember, LocalBroker } from '@kubus/bus/testing';
import type { FactOwner } from '@kubus/bus';
import { type RuntimePod, podRefOf, podWake, runtimePod, serviceContracts, typeOf } from '@kubus/contracts';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { SyncLoop } from '../src/sync-loop.ts';
import { NODE, startLoop } from './started-loop.ts';

const pod = makePod({ containers: [{ name: 'c' }] }, { uid: 'a', name: 'a' });
const self = { version: '0', pid: 1, startedAt: '2030-01-01T00:00:00Z' };
const follows = [typeOf(runtimePod)];

let clock: ManualClock;
let broker: LocalBroker;
let states: FactOwner<RuntimePod>;
let loop: SyncLoop;
let counter = 0;

beforeEach(async () => {
  clock = new ManualClock();
  broker = new LocalBroker(NODE);
  ({ loop, states } = await startLoop(broker, clock, [pod]));
});

afterEach(() => loop.stop());

/** An instance of pod-workers starts; `announced`: what it says of itself. */
async function workersStart(epoch: number, announced: { follows?: string[] }): Promise<LocalMember> {
  const member = broker.join('pod-workers', clock, epoch);
  for (const fact of serviceContracts['pod-workers'].owns) member.bus.owner(fact);
  for (const fact of serviceContracts['pod-workers'].reads) member.bus.reader(fact);
  member.bus.announce({ ...self, ...announced });
  await settled();
  return member;
}

async function runtimeSays(ready: boolean): Promise<void> {
  const sandbox = { id: 's', attempt: 0, ready, createdAt: '0', ips: [], runtimeHandler: '' };
  const stamp = { epoch: 1, counter: ++counter };
  states.put('a', { ref: podRefOf(pod), stamp, sandboxes: [sandbox], containers: [] }, { pod: 'a' });
  await settled();
}

/** The stamps of the wakes since the last call; `removed` for one without. */
function wakes(): unknown[] {
  const said = broker.said.splice(0).filter(({ subject }) => subject === `kubus.${NODE}.sync.fact.wake.a`);
  return said.map(({ data }) => podWake.payload.parse(JSON.parse(data)).runtime?.counter ?? 'removed');
}

test('a worker that follows the runtime is not woken; one of the version before is', async () => {
  const member = await workersStart(1, { follows });
  await runtimeSays(true);
  await runtimeSays(false);
  expect(wakes()).toEqual([]);
  member.leave();
  await workersStart(2, {});
  // What has changed before it announced itself may not have reached it.
  expect(wakes()).toEqual([counter]);
  await runtimeSays(true);
  expect(wakes()).toEqual([counter]);
  // Read again, and not changed.
  await runtimeSays(true);
  expect(wakes()).toEqual([]);
  states.remove('a', { pod: 'a' });
  await settled();
  expect(wakes()).toEqual(['removed']);
});

test('a worker that was replaced by a later version is woken no more', async () => {
  const member = await workersStart(1, {});
  await runtimeSays(true);
  expect(wakes()).toEqual([counter]);
  member.leave();
  await workersStart(2, { follows });
  await runtimeSays(false);
  expect(wakes()).toEqual([]);
});
