import { beforeEach, describe, expect, test } from '@jest/globals';
import { decodeEnvelope } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type RuntimePod, runtimePodSchema } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { PodValues } from '../src/pod-values.ts';
import { Pleg } from '../src/pleg.ts';
import { Stamps } from '../src/stamps.ts';
import { ScriptedPods, labelsOf } from './scripted-pods.ts';
import { failure } from './scripted-runtime.ts';

const NODE = 'node0';
const RELIST_MS = 30_000;
const RELIST_WITHOUT_EVENTS_MS = 1_000;
const RETRY_MS = 1_000;
const STRANGER_MS = 5_000;

let runtime: ScriptedPods;
let clock: ManualClock;
let broker: LocalBroker;
let pleg: Pleg;

beforeEach(() => {
  runtime = new ScriptedPods();
  clock = new ManualClock();
  broker = new LocalBroker(NODE);
  const bus = broker.join('cri-bridge', clock, 7).bus;
  pleg = new Pleg({ runtime, bus, clock, logger: silentLogger, stamps: new Stamps(7), values: new PodValues() });
});

/** Starts it on a runtime with events, and lets the first relist be done. */
async function begin(): Promise<void> {
  pleg.start(() => undefined);
  runtime.stream('streaming');
  await clock.advance(0);
  await settled();
  forget();
}

/** What happened so far does not count. */
function forget(): void {
  runtime.calls.length = 0;
  broker.said.length = 0;
}

/** The facts about pods that were published: the states of their containers, or that they are gone. */
function published(): string[] {
  return broker.said.flatMap(({ subject, headers, data }) => {
    const [, , area, kind, name, key] = subject.split('.');
    if (`${area}.${kind}.${name}` !== 'runtime.fact.pod') return [];
    if (key === '=complete') return [`complete ${(JSON.parse(data) as { keys: string[] }).keys.length}`];
    if (headers['Kubus-Removed'] !== undefined) return [`${key} removed`];
    const { sandboxes, containers } = podOf(data);
    return [`${key} ${[...sandboxes.map(({ ready }) => ready), ...containers.map(({ state }) => state)].join(' ')}`];
  });
}

function podOf(data: string): RuntimePod {
  return runtimePodSchema.parse(JSON.parse(data));
}

describe('the relist', () => {
  test('at the start reads every pod, and then says that this is all', async () => {
    runtime.set('a');
    runtime.set('b', 'CONTAINER_EXITED', false);
    const states: string[] = [];
    pleg.start(({ state }) => states.push(state));
    runtime.stream('none');
    await clock.advance(0);
    await settled();
    expect(published()).toEqual(['a true running', 'b false exited', 'complete 2']);
    expect(states).toEqual(['none']);
    expect([pleg.podOf('c-a'), pleg.podOf('s-b'), pleg.podOf('c-x')]).toEqual(['a', 'b', undefined]);
  });

  test('does not begin before the runtime can be reached, and begins anew whenever it can be again', async () => {
    runtime.connection = 'lost';
    pleg.start(() => undefined);
    await clock.advance(RELIST_MS);
    expect(runtime.calls).toEqual([]);
    runtime.setConnection('connected');
    await clock.advance(0);
    await settled();
    expect(runtime.reads.lists).toBe(1);
    runtime.setConnection('connected');
    await clock.advance(0);
    await settled();
    expect(runtime.reads.lists).toBe(2);
  });

  test.each([
    ['streaming', RELIST_MS],
    ['none', RELIST_WITHOUT_EVENTS_MS],
    ['lost', RELIST_WITHOUT_EVENTS_MS],
  ] as const)('comes again with events %s after %i ms, and reads only what has changed', async (events, wait) => {
    for (const uid of ['a', 'b', 'c']) runtime.set(uid);
    await begin();
    runtime.stream(events);
    await clock.advance(0);
    await settled();
    forget();
    runtime.set('b', 'CONTAINER_EXITED');
    runtime.pods.delete('c');
    runtime.set('d');
    await clock.advance(wait - 1);
    expect(runtime.calls).toEqual([]);
    await clock.advance(1);
    await settled();
    expect(runtime.reads).toEqual({ pods: ['b', 'd', 'c'], lists: 1 });
    expect(published().sort()).toEqual(['b true exited', 'c removed', 'd true running']);
    expect([pleg.podOf('c-c'), pleg.podOf('c-d')]).toEqual([undefined, 'd']);
  });

  test('comes at once when events are lost, and when they are back', async () => {
    await begin();
    for (const state of ['lost', 'streaming'] as const) {
      forget();
      runtime.stream(state);
      await clock.advance(0);
      await settled();
      expect([state, runtime.reads.lists]).toEqual([state, 1]);
    }
  });

  test('that fails is done again soon, and says nothing meanwhile', async () => {
    runtime.set('a');
    runtime.before = () => Promise.reject(failure('Unknown', 'broken'));
    await begin();
    await clock.advance(RETRY_MS - 1);
    expect(published()).toEqual([]);
    runtime.before = () => Promise.resolve();
    await clock.advance(1);
    await settled();
    expect(published()).toEqual(['a true running', 'complete 1']);
  });

  test('one pod that can not be read does not keep the others waiting, and is read again', async () => {
    for (const uid of ['a', 'b']) runtime.set(uid);
    let broken = true;
    runtime.on('ContainerStatus', ({ containerId }) => {
      if (broken && containerId === 'c-a') throw failure('Unknown', 'broken');
      return { status: { id: containerId ?? '', labels: labelsOf('b'), state: 'CONTAINER_RUNNING' } };
    });
    pleg.start(() => undefined);
    runtime.stream('streaming');
    await clock.advance(0);
    await settled();
    expect(published()).toEqual(['b true running', 'complete 1']);
    broken = false;
    await clock.advance(RETRY_MS);
    await settled();
    expect(published().filter((fact) => fact.startsWith('a '))).not.toEqual([]);
  });

  test('is not made any more after the end', async () => {
    await begin();
    pleg.stop();
    await clock.advance(10 * RELIST_MS);
    expect(runtime.calls).toEqual([]);
    expect(clock.waits).toEqual([]);
  });
});

describe('hints', () => {
  test('make their one pod be read, and are told as what led to it', async () => {
    for (const uid of ['a', 'b']) runtime.set(uid);
    await begin();
    runtime.set('a', 'CONTAINER_EXITED');
    runtime.hint('c-a', 'stopped');
    await settled();
    expect(runtime.reads).toEqual({ pods: ['a'], lists: 0 });
    expect(published()).toEqual(['a true exited']);
    const [hint, fact] = broker.said.map(({ subject, headers }) => ({ subject, ...decodeEnvelope(headers) }));
    expect(hint?.subject).toBe(`kubus.${NODE}.runtime.event.hint.a`);
    expect(fact?.causes).toEqual([hint?.cause.id]);
  });

  test('that come while the pod is being read make one more read, however many they are', async () => {
    runtime.set('a');
    await begin();
    const gate = Promise.withResolvers<undefined>();
    runtime.before = () => gate.promise;
    runtime.hint('c-a', 'oom');
    await settled();
    for (let i = 0; i < 5; i++) runtime.hint('c-a', 'oom', 'a');
    await settled();
    expect(runtime.reads.pods).toEqual(['a']);
    gate.resolve(undefined);
    await settled();
    expect(runtime.reads.pods).toEqual(['a', 'a']);
  });

  test('while a command of the pod runs, are read for at its end and not told', async () => {
    runtime.set('a');
    await begin();
    pleg.commandBegins('a');
    pleg.commandBegins('a');
    runtime.hint('c-a', 'started');
    await clock.advance(RELIST_MS);
    expect(runtime.reads.pods).toEqual([]);
    pleg.commandEnds('a', { read: false, causes: [] });
    await settled();
    expect(runtime.reads.pods).toEqual([]);
    pleg.commandEnds('a', { read: false, causes: [] });
    await settled();
    expect(runtime.reads.pods).toEqual(['a']);
    expect(broker.said.filter(({ subject }) => subject.includes('hint'))).toEqual([]);
  });

  test.each([
    [true, ['a']],
    [false, []],
  ])('are not needed at the end of a command: with read %s, the reads are %j', async (read, reads) => {
    runtime.set('a');
    await begin();
    pleg.commandBegins('a');
    pleg.commandEnds('a', { read, causes: [] });
    await settled();
    expect(runtime.reads.pods).toEqual(reads);
  });

  test('that a container has stopped are not believed less than its status: it is read again until it says so', async () => {
    runtime.set('a');
    await begin();
    runtime.hint('c-a', 'stopped');
    await settled();
    expect(published()).toEqual(['a true running']);
    const before = runtime.reads.pods.length;
    await clock.advance(10);
    await clock.advance(20);
    await settled();
    expect(runtime.reads.pods.length - before).toBe(2);
    runtime.set('a', 'CONTAINER_EXITED');
    await clock.advance(40);
    await settled();
    expect(published()).toEqual(['a true running', 'a true running', 'a true running', 'a true exited']);
    forget();
    await clock.advance(RELIST_MS - 1_000);
    expect(runtime.calls).toEqual([]);
  });

  test('about one that goes on nevertheless are given up after some reads', async () => {
    runtime.set('a');
    await begin();
    runtime.hint('s-a', 'stopped');
    await clock.advance(RELIST_MS - 1_000);
    expect(runtime.reads.pods).toHaveLength(9);
  });

  test('about something unknown wait for whoever is making it; if nobody is, a relist finds it', async () => {
    await begin();
    runtime.set('a');
    runtime.hint('c-a', 'started');
    await clock.advance(STRANGER_MS - 1);
    expect(runtime.calls).toEqual([]);
    await clock.advance(1);
    await clock.advance(0);
    await settled();
    expect(published()).toEqual(['a true running']);

    forget();
    runtime.set('b');
    runtime.hint('c-b', 'started');
    await pleg.read('b');
    await clock.advance(STRANGER_MS);
    await clock.advance(0);
    expect(runtime.reads).toEqual({ pods: ['b'], lists: 0 });
  });
});

describe('a read', () => {
  test('is stamped before its first call, and the next one later', async () => {
    runtime.set('a');
    await begin();
    const first = await pleg.read('a');
    const second = await pleg.read('a');
    expect(first.pod?.stamp).toEqual(first.at);
    expect(first.at.epoch).toBe(7);
    expect(second.at.counter).toBeGreaterThan(first.at.counter);
    const unknown = await pleg.read('x');
    expect(unknown).toEqual({ pod: undefined, at: { epoch: 7, counter: second.at.counter + 1 } });
  });

  test('asked for while another one goes on begins after it, and is shared by all who ask', async () => {
    runtime.set('a');
    await begin();
    const gate = Promise.withResolvers<undefined>();
    runtime.before = () => gate.promise;
    const first = pleg.read('a');
    await settled();
    runtime.before = () => Promise.resolve();
    const later = [pleg.read('a'), pleg.read('a')];
    runtime.set('a', 'CONTAINER_EXITED');
    gate.resolve(undefined);
    const [one, two] = await Promise.all(later);
    expect(one).toBe(two);
    expect((await first).at.counter).toBeLessThan(one?.at.counter ?? 0);
    expect(one?.pod?.containers[0]?.state).toBe('exited');
    expect(runtime.reads.pods).toEqual(['a', 'a']);
  });

  test('that fails is told to who asked, and made again', async () => {
    runtime.set('a');
    await begin();
    runtime.before = () => Promise.reject(failure('Unknown', 'broken'));
    await expect(pleg.read('a')).rejects.toThrow('broken');
    runtime.before = () => Promise.resolve();
    await clock.advance(RETRY_MS);
    await settled();
    expect(published()).toEqual(['a true running']);
  });

  test('takes its turn when many are wanted at once', async () => {
    const uids = Array.from({ length: 20 }, (_, index) => `p${index}`);
    for (const uid of uids) runtime.set(uid);
    await begin();
    const gate = Promise.withResolvers<undefined>();
    runtime.before = () => gate.promise;
    const reads = uids.map((uid) => pleg.read(uid));
    await settled();
    expect(runtime.reads.pods).toHaveLength(8);
    gate.resolve(undefined);
    await Promise.all(reads);
    expect(runtime.reads.pods).toEqual(uids);
  });

  test('asks for the status of a dead container only once', async () => {
    runtime.set('a', 'CONTAINER_EXITED');
    await begin();
    await pleg.read('a');
    await pleg.read('a');
    expect(runtime.reads.pods).toEqual(['a', 'a']);
    expect(runtime.count('ContainerStatus')).toBe(0);
  });
});
