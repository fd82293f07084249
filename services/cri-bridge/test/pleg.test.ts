import { beforeEach, describe, expect, test } from '@jest/globals';
import { decodeEnvelope } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type RuntimePod, runtimePodSchema } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { PodValues } from '../src/pod/pod-values.ts';
import { Pleg } from '../src/pod/pleg.ts';
import { Stamps } from '../src/runtime/stamps.ts';
import { ScriptedPods, labelsOf } from './scripted-pods.ts';
import { failure } from './scripted-runtime.ts';

const NODE = 'node0';
const RELIST_MS = 30_000;
const RELIST_WITHOUT_EVENTS_MS = 1_000;
const RETRY_MS = 1_000;
const UNKNOWN_CONTAINER_GRACE_MS = 5_000;

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

/** Starts it on a runtime with events, and waits for the first relist. */
async function begin(): Promise<void> {
  pleg.start(() => undefined);
  runtime.stream('streaming');
  await clock.advance(0);
  await settled();
  forget();
}

/** Ignores what happened so far. */
function forget(): void {
  runtime.calls.length = 0;
  broker.said.length = 0;
}

/** The published facts about pods: the states of their containers, or that they were removed. */
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
  test('reads every pod at the start, and then publishes the completion mark', async () => {
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

  test('waits for a connection to the runtime, and starts again after each reconnect', async () => {
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
  ] as const)('is repeated with events %s after %i ms, and reads only changed pods', async (events, wait) => {
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

  test('is repeated at once when events are lost, and when they are back', async () => {
    await begin();
    for (const state of ['lost', 'streaming'] as const) {
      forget();
      runtime.stream(state);
      await clock.advance(0);
      await settled();
      expect([state, runtime.reads.lists]).toEqual([state, 1]);
    }
  });

  test('is repeated soon after a failure, and publishes nothing meanwhile', async () => {
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

  test('reads a pod that could not be read again, and does not delay the others', async () => {
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

  test('is not repeated after stop', async () => {
    await begin();
    pleg.stop();
    await clock.advance(10 * RELIST_MS);
    expect(runtime.calls).toEqual([]);
    expect(clock.waits).toEqual([]);
  });
});

describe('hints', () => {
  test('cause a read of their pod alone, and are the cause of its fact', async () => {
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

  test('during a read of the pod cause one more read, however many there are', async () => {
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

  test('during a command of the pod are covered by the read at its end and not published', async () => {
    runtime.set('a');
    await begin();
    pleg.commandStarts('a');
    pleg.commandStarts('a');
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
  ])('are not needed for a read at the end of a command (read %s, reads %j)', async (read, reads) => {
    runtime.set('a');
    await begin();
    pleg.commandStarts('a');
    pleg.commandEnds('a', { read, causes: [] });
    await settled();
    expect(runtime.reads.pods).toEqual(reads);
  });

  test('about a stopped container outweigh its status: it is read again until it shows the stop', async () => {
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

  test('about a stopped container count also before its first read', async () => {
    await begin();
    pleg.commandStarts('a');
    runtime.hint('c-a', 'stopped');
    // The status is late: the read at the end of the command still finds the container running.
    runtime.set('a');
    pleg.commandEnds('a', { read: true, causes: [] });
    await settled();
    expect(published()).toEqual(['a true running']);
    runtime.set('a', 'CONTAINER_EXITED');
    await clock.advance(10);
    await settled();
    expect(published()).toEqual(['a true running', 'a true exited']);
  });

  test('about a stop that never shows are dropped after some reads', async () => {
    runtime.set('a');
    await begin();
    runtime.hint('s-a', 'stopped');
    await clock.advance(RELIST_MS - 1_000);
    expect(runtime.reads.pods).toHaveLength(9);
  });

  test('about an unknown container wait for the command that creates it, then for a relist', async () => {
    await begin();
    runtime.set('a');
    runtime.hint('c-a', 'started');
    await clock.advance(UNKNOWN_CONTAINER_GRACE_MS - 1);
    expect(runtime.calls).toEqual([]);
    await clock.advance(1);
    await clock.advance(0);
    await settled();
    expect(published()).toEqual(['a true running']);

    forget();
    runtime.set('b');
    runtime.hint('c-b', 'started');
    await pleg.read('b');
    await clock.advance(UNKNOWN_CONTAINER_GRACE_MS);
    await clock.advance(0);
    expect(runtime.reads).toEqual({ pods: ['b'], lists: 0 });
  });
});

describe('a read', () => {
  test('is stamped before its first call, and each later one higher', async () => {
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

  test('that is requested during another one begins after it, and is shared by all callers', async () => {
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

  test('that fails rejects for its caller, and is repeated', async () => {
    runtime.set('a');
    await begin();
    runtime.before = () => Promise.reject(failure('Unknown', 'broken'));
    await expect(pleg.read('a')).rejects.toThrow('broken');
    runtime.before = () => Promise.resolve();
    await clock.advance(RETRY_MS);
    await settled();
    expect(published()).toEqual(['a true running']);
  });

  test('waits for its turn when many are requested at once', async () => {
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

  test('waits for a container that containerd does not know for a moment after its start', async () => {
    runtime.set('a');
    await begin();
    runtime.set('a', 'CONTAINER_UNKNOWN');
    const read = pleg.read('a');
    await clock.advance(1_000);
    expect(published()).toEqual([]);
    runtime.set('a', 'CONTAINER_EXITED');
    await clock.advance(1_000);
    await read;
    expect(published()).toEqual(['a true exited']);
  });

  test('does not stop a container that the last of these reads finds running', async () => {
    runtime.set('a');
    await begin();
    runtime.set('a', 'CONTAINER_UNKNOWN');
    const read = pleg.read('a');
    await clock.advance(10_000);
    runtime.set('a');
    await clock.advance(1_000);
    await read;
    expect(published()).toEqual(['a true running']);
    expect(runtime.count('StopContainer')).toBe(0);
  });

  test('stops a container that stays unknown, so that the runtime has its end', async () => {
    runtime.on('StopContainer', () => {
      runtime.set('a', 'CONTAINER_EXITED');
      return {};
    });
    runtime.set('a', 'CONTAINER_UNKNOWN');
    await begin();
    await clock.advance(11_000);
    await settled();
    expect(published()).toEqual(['a true exited', 'complete 1']);
  });

  test('publishes a container that cannot be stopped as unknown, after having waited for it once', async () => {
    runtime.on('StopContainer', () => {
      throw failure('Unknown', 'broken');
    });
    runtime.set('a', 'CONTAINER_UNKNOWN');
    await begin();
    await clock.advance(11_000);
    await settled();
    expect(published()).toEqual(['a true unknown', 'complete 1']);
    forget();
    await pleg.read('a');
    expect(published()).toEqual(['a true unknown']);
    expect(runtime.count('StopContainer')).toBe(0);
  });

  test('reads the status of an exited container only once', async () => {
    runtime.set('a', 'CONTAINER_EXITED');
    await begin();
    await pleg.read('a');
    await pleg.read('a');
    expect(runtime.reads.pods).toEqual(['a', 'a']);
    expect(runtime.count('ContainerStatus')).toBe(0);
  });
});
