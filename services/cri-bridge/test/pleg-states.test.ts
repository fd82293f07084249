import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { runtimePodSchema } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { ContainerState } from '@kubus/proto/cri';
import { PodValues } from '../src/pod/pod-values.ts';
import { Pleg } from '../src/pod/pleg.ts';
import { Stamps } from '../src/runtime/stamps.ts';
import { ScriptedPods } from './scripted-pods.ts';

const runtime = new ScriptedPods();
const clock = new ManualClock();
const broker = new LocalBroker('node0');
const { bus } = broker.join('cri-bridge', clock, 7);
const pleg = new Pleg({ runtime, bus, clock, logger: silentLogger, stamps: new Stamps(7), values: new PodValues() });

/** Ignores what happened so far. */
function forget(): void {
  runtime.calls.length = 0;
  broker.said.length = 0;
}

/** The states of containers in the published facts. */
function published(): string[] {
  const facts = broker.said.filter(({ subject }) => subject.endsWith('runtime.fact.pod.a'));
  return facts.flatMap(({ data }) => runtimePodSchema.parse(JSON.parse(data)).containers.map(({ state }) => state));
}

test('hints that say what was read cause no read, also when they came during it; others do', async () => {
  const says = (container: ContainerState, state: 'SANDBOX_READY' | 'SANDBOX_NOTREADY' = 'SANDBOX_READY') => ({
    sandbox: { id: 's-a', state },
    containers: [{ id: 'c-a', state: container }],
  });
  runtime.set('a', 'CONTAINER_CREATED');
  pleg.start(() => undefined);
  runtime.stream('streaming');
  await clock.advance(0);
  await settled();
  forget();
  runtime.hint('c-a', 'created', 'a', says('CONTAINER_CREATED'));
  await settled();
  expect([runtime.reads.pods, broker.said]).toEqual([[], []]);

  const { promise, resolve } = Promise.withResolvers<undefined>();
  runtime.before = () => promise;
  runtime.set('a');
  const read = pleg.read('a');
  await settled();
  runtime.hint('c-a', 'started', 'a', says('CONTAINER_RUNNING'));
  resolve(undefined);
  await read;
  await settled();
  expect([runtime.reads.pods, published()]).toEqual([['a'], ['running']]);

  forget();
  runtime.set('a', 'CONTAINER_EXITED');
  runtime.hint('c-a', 'stopped', 'a', says('CONTAINER_EXITED'));
  await settled();
  expect([runtime.reads.pods, published()]).toEqual([['a'], ['exited']]);
  // A sandbox of an earlier attempt is not in the hint: it does not say all of the pod.
  forget();
  runtime.hint('c-a', 'deleted', 'a', { ...says('CONTAINER_EXITED'), containers: [] });
  await settled();
  expect(runtime.reads.pods).toEqual(['a']);
});
