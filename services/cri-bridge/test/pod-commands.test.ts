import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Bus, CommandFailed, HEADER, type Hold, decodeEnvelope, parseCause, parseTime } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type CriRequest, type FencedMethod, SANDBOX_CAUSE, criCommands, fencePod, readPod } from '@kubus/contracts';
import { noObjects } from '@kubus/object-socket';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { Pleg } from '../src/pleg.ts';
import { PodCommands } from '../src/pod-commands.ts';
import { PodEffects } from '../src/pod-effects.ts';
import { PodValues } from '../src/pod-values.ts';
import { Stamps } from '../src/stamps.ts';
import { ScriptedPods } from './scripted-pods.ts';
import { failure } from './scripted-runtime.ts';

const NODE = 'node0';
const SANDBOXES_AT_ONCE = 2;

let runtime: ScriptedPods;
let commands: PodCommands;
let clock: ManualClock;
let broker: LocalBroker;
let worker: Bus;
/** What the runtime was told to do, in order, and what ends each. */
let deeds: { readonly what: string; readonly end: () => void; readonly fail: (error: Error) => void }[];

beforeEach(() => {
  runtime = new ScriptedPods();
  deeds = [];
  clock = new ManualClock();
  broker = new LocalBroker(NODE);
  const bus = broker.join('cri-bridge', clock, 7).bus;
  worker = broker.join('pod-workers', clock).bus;
  const stamps = new Stamps(7);
  const values = new PodValues();
  const pleg = new Pleg({ runtime, bus, clock, logger: silentLogger, stamps, values });
  const effects = new PodEffects({ runtime, clock, logger: silentLogger, handler: () => Promise.resolve(undefined) });
  commands = new PodCommands({
    ...{ bus, pleg, effects, stamps, values },
    ...{ objects: noObjects, sandboxesAtOnce: SANDBOXES_AT_ONCE },
  });
  commands.serve();
  runtime.on('RunPodSandbox', ({ config }) => deed(`run ${config?.metadata?.uid ?? ''}`, { podSandboxId: 's' }));
  runtime.on('CreateContainer', ({ podSandboxId }) => deed(`create ${podSandboxId ?? ''}`, { containerId: 'c' }));
  runtime.on('StartContainer', ({ containerId }) => deed(`start ${containerId ?? ''}`, {}));
  runtime.on('StopContainer', ({ containerId }) => deed(`stop ${containerId ?? ''}`, {}));
});

/** Something that lasts until the test ends it. */
function deed<T>(what: string, result: T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  deeds.push({ what, end: () => resolve(result), fail: reject });
  return promise;
}

function begun(): string[] {
  return deeds.map(({ what }) => what);
}

async function end(what: string): Promise<void> {
  deeds.find((one) => one.what === what)?.end();
  await settled();
}

/** Takes the pod over. */
async function hold(pod: string, number = 1): Promise<Hold> {
  await worker.call(fencePod, pod, { hold: number });
  return worker.hold(pod, number);
}

/** Sends a command; its outcome is in the result as soon as it is known. */
function send<M extends FencedMethod>(method: M, held: Hold, params: CriRequest<M>['params']) {
  const outcome: { at?: object; error?: unknown } = {};
  worker.call(criCommands[method], held.pod, { params }, { hold: held }).then(
    ({ result }) => (outcome.at = result.at),
    (error: unknown) => (outcome.error = error),
  );
  return outcome;
}

const sandboxOf = (uid: string) => ({ config: { metadata: { name: uid, uid, namespace: 'default', attempt: 0 } } });

describe('commands of one pod', () => {
  test('are carried out one after another in order; those of other pods do not wait', async () => {
    const [a, b] = [await hold('a'), await hold('b')];
    send('RunPodSandbox', a, sandboxOf('a'));
    send('CreateContainer', a, { podSandboxId: 's1' });
    send('CreateContainer', a, { podSandboxId: 's2' });
    send('CreateContainer', b, { podSandboxId: 's3' });
    await settled();
    expect(begun().sort()).toEqual(['create s3', 'run a']);
    await end('run a');
    expect(begun().slice(2)).toEqual(['create s1']);
    await end('create s1');
    expect(begun().slice(2)).toEqual(['create s1', 'create s2']);
  });

  test('that stop something wait for nothing', async () => {
    const a = await hold('a');
    send('RunPodSandbox', a, sandboxOf('a'));
    send('CreateContainer', a, { podSandboxId: 's1' });
    send('StopContainer', a, { containerId: 'c1' });
    await settled();
    expect(begun().sort()).toEqual(['run a', 'stop c1']);
  });

  test('go on after one of them has failed; the failure tells when it ended', async () => {
    const a = await hold('a');
    const failed = send('CreateContainer', a, { podSandboxId: 's1' });
    const next = send('StartContainer', a, { containerId: 'c1' });
    await settled();
    deeds[0]?.fail(failure('Unknown', 'no space left on device'));
    await settled();
    await end('start c1');
    expect(failed.error).toBeInstanceOf(CommandFailed);
    const { code, message, context } = failed.error as CommandFailed;
    expect([code, message]).toEqual(['Unknown', expect.stringContaining('no space left on device')]);
    expect(context).toMatchObject({ endEpoch: 7, endCounter: expect.any(Number) });
    expect(next.at).toMatchObject({ epoch: 7, counter: expect.any(Number) });
    expect((next.at as { counter: number }).counter).toBeGreaterThan(Number(context['endCounter']));
  });

  test.each([
    ['container', 'StopContainer', { containerId: 'c-b' }],
    ['sandbox', 'RemovePodSandbox', { podSandboxId: 's-b' }],
    ['configuration', 'RunPodSandbox', sandboxOf('b')],
  ] as const)('may not be about another pod’s %s', async (_what, method, params) => {
    runtime.set('b');
    await worker.call(readPod, 'b', {});
    const outcome = send(method, await hold('a'), params);
    await settled();
    expect(outcome.error).toMatchObject({ code: 'wrong-pod', context: { pod: 'a', owner: 'b' } });
    expect(begun()).toEqual([]);
  });
});

describe('sandboxes', () => {
  test('are made a few at once over all pods, in order; nothing else waits for them', async () => {
    const holds = await Promise.all(['a', 'b', 'c', 'd'].map((pod) => hold(pod)));
    for (const held of holds) send('RunPodSandbox', held, sandboxOf(held.pod));
    await settled();
    expect(begun()).toEqual(['run a', 'run b']);
    expect(commands.sandboxes).toEqual({ making: 2, waiting: 2 });
    const e = await hold('e');
    send('CreateContainer', e, { podSandboxId: 's5' });
    await settled();
    expect(begun()).toEqual(['run a', 'run b', 'create s5']);
    await end('run b');
    expect(begun().slice(3)).toEqual(['run c']);
    deeds[0]?.fail(failure('Unknown', 'broken'));
    await settled();
    expect(begun().slice(3)).toEqual(['run c', 'run d']);
    await end('run c');
    await end('run d');
    expect(commands.sandboxes).toEqual({ making: 0, waiting: 0 });
  });
});

describe('taking a pod over', () => {
  test('waits for what has begun, and what waits in the lane never begins', async () => {
    const old = await hold('a', 1);
    send('CreateContainer', old, { podSandboxId: 's1' });
    send('StartContainer', old, { containerId: 'c1' });
    await settled();
    let taken: { at: object } | undefined;
    void worker.call(fencePod, 'a', { hold: 2 }).then(({ result }) => (taken = result));
    await settled();
    expect([begun(), taken]).toEqual([['create s1'], undefined]);
    await end('create s1');
    expect(taken).toMatchObject({ at: { epoch: 7 } });
    expect(begun()).toEqual(['create s1']);
    const held = worker.hold('a', 2);
    send('StartContainer', held, { containerId: 'c2' });
    await settled();
    expect(begun()).toEqual(['create s1', 'start c2']);
  });

  test('drops a sandbox that waits for its turn among all pods, and gives its turn on', async () => {
    for (const pod of ['a', 'b']) send('RunPodSandbox', await hold(pod), sandboxOf(pod));
    const c = await hold('c', 1);
    const d = await hold('d', 1);
    send('RunPodSandbox', c, sandboxOf('c'));
    send('RunPodSandbox', d, sandboxOf('d'));
    await settled();
    await hold('c', 2);
    await end('run a');
    expect(begun()).toEqual(['run a', 'run b', 'run d']);
  });

  test('under an older number is refused, and its commands with it', async () => {
    const newer = await hold('a', 5);
    await expect(hold('a', 4)).rejects.toMatchObject({ code: 'fenced-off' });
    const outcome = send('CreateContainer', worker.hold('a', 4), { podSandboxId: 's1' });
    await settled();
    expect(outcome.error).toMatchObject({ code: 'fenced-off' });
    const unknown = send('CreateContainer', worker.hold('x', 1), { podSandboxId: 's1' });
    await settled();
    expect(unknown.error).toMatchObject({ code: 'not-fenced' });
    expect(begun()).toEqual([]);
    send('CreateContainer', newer, { podSandboxId: 's2' });
    await settled();
    expect(begun()).toEqual(['create s2']);
  });
});

test('a sandbox carries the command that has it made', async () => {
  const made: (Readonly<Record<string, string>> | undefined)[] = [];
  runtime.on('RunPodSandbox', ({ config }) => {
    made.push(config?.annotations);
    return Promise.resolve({ podSandboxId: 's' });
  });
  const config = { ...sandboxOf('a').config, annotations: { own: 'stays' } };
  send('RunPodSandbox', await hold('a'), { config });
  await settled();
  const command = broker.said.find(({ headers }) => headers[HEADER.type] === 'runtime.cmd.RunPodSandbox/1');
  const [{ own, [SANDBOX_CAUSE]: carried = '' } = {}] = made;
  expect(own).toBe('stays');
  expect(parseCause(carried)?.id).toBe(decodeEnvelope(command?.headers ?? {}).cause.id);
});

test('the answer to a command that waited in its lane says when its turn had come', async () => {
  const held = await hold('a');
  const start = clock.now();
  send('CreateContainer', held, { podSandboxId: 's' });
  send('StartContainer', held, { containerId: 'c' });
  send('StopContainer', held, { containerId: 'c' });
  await settled();
  await clock.advance(100);
  await end('create s');
  await clock.advance(50);
  await end('start c');
  await end('stop c');
  const done = (method: string) => {
    const answer = broker.said.find(
      ({ headers }) => headers[HEADER.type] === `runtime.reply.${method}/1` && headers[HEADER.status] === 'done',
    );
    const { heard = '', began } = decodeEnvelope(answer?.headers ?? {});
    return [parseTime(heard) - start, began === undefined ? undefined : parseTime(began) - start];
  };
  expect(done('StartContainer')).toEqual([0, 100]);
  // The end of a pod waits for nothing.
  expect(done('StopContainer')).toEqual([0, undefined]);
});
