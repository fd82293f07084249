import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Bus, CommandFailed, HEADER, type FencingToken, decodeEnvelope, parseCause, parseTime } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type CriRequest, type FencedMethod, SANDBOX_CAUSE, criCommands, fencePod, readPod } from '@kubus/contracts';
import { noObjects } from '@kubus/object-socket';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { Pleg } from '../src/pod/pleg.ts';
import { PodCommands } from '../src/pod/pod-commands.ts';
import { PodEffects } from '../src/pod/pod-effects.ts';
import { PodValues } from '../src/pod/pod-values.ts';
import { Stamps } from '../src/runtime/stamps.ts';
import { ScriptedPods } from './scripted-pods.ts';
import { failure } from './scripted-runtime.ts';

const NODE = 'node0';
const SANDBOXES_AT_ONCE = 2;

let runtime: ScriptedPods;
let commands: PodCommands;
let clock: ManualClock;
let broker: LocalBroker;
let worker: Bus;
let pleg: Pleg;
/** What the runtime was called to do, in order, and how to end each call. */
let runtimeCalls: { readonly what: string; readonly end: () => void; readonly fail: (error: Error) => void }[];

beforeEach(() => {
  runtime = new ScriptedPods();
  runtimeCalls = [];
  clock = new ManualClock();
  broker = new LocalBroker(NODE);
  const bus = broker.join('cri-bridge', clock, 7).bus;
  worker = broker.join('pod-workers', clock).bus;
  const stamps = new Stamps(7);
  const values = new PodValues();
  pleg = new Pleg({ runtime, bus, clock, logger: silentLogger, stamps, values });
  const effects = new PodEffects({ runtime, clock, logger: silentLogger, handler: () => Promise.resolve(undefined) });
  commands = new PodCommands({
    ...{ bus, pleg, effects, stamps, values },
    ...{ objects: noObjects, sandboxesAtOnce: SANDBOXES_AT_ONCE },
  });
  commands.serve();
  runtime.on('RunPodSandbox', ({ config }) => runtimeCall(`run ${config?.metadata?.uid ?? ''}`, { podSandboxId: 's' }));
  runtime.on('CreateContainer', ({ podSandboxId }) =>
    runtimeCall(`create ${podSandboxId ?? ''}`, { containerId: 'c' }),
  );
  runtime.on('StartContainer', ({ containerId }) => runtimeCall(`start ${containerId ?? ''}`, {}));
  runtime.on('StopContainer', ({ containerId }) => runtimeCall(`stop ${containerId ?? ''}`, {}));
});

/** A runtime call that lasts until the test ends it. */
function runtimeCall<T>(what: string, result: T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  runtimeCalls.push({ what, end: () => resolve(result), fail: reject });
  return promise;
}

function startedCalls(): string[] {
  return runtimeCalls.map(({ what }) => what);
}

async function end(what: string): Promise<void> {
  runtimeCalls.find((one) => one.what === what)?.end();
  await settled();
}

/** Fences the pod. */
async function fence(pod: string, number = 1): Promise<FencingToken> {
  await worker.call(fencePod, pod, { hold: number });
  return worker.fencingToken(pod, number);
}

/** Sends a command; its outcome is in the result as soon as it is known. */
function send<M extends FencedMethod>(method: M, token: FencingToken, params: CriRequest<M>['params']) {
  const outcome: { at?: object; error?: unknown } = {};
  worker.call(criCommands[method], token.pod, { params }, { fencingToken: token }).then(
    ({ result }) => (outcome.at = result.at),
    (error: unknown) => (outcome.error = error),
  );
  return outcome;
}

const sandboxOf = (uid: string) => ({ config: { metadata: { name: uid, uid, namespace: 'default', attempt: 0 } } });

describe('commands of one pod', () => {
  test('run one after another in order; those of other pods do not wait', async () => {
    const [a, b] = [await fence('a'), await fence('b')];
    send('RunPodSandbox', a, sandboxOf('a'));
    send('CreateContainer', a, { podSandboxId: 's1' });
    send('CreateContainer', a, { podSandboxId: 's2' });
    send('CreateContainer', b, { podSandboxId: 's3' });
    await settled();
    expect(startedCalls().sort()).toEqual(['create s3', 'run a']);
    await end('run a');
    expect(startedCalls().slice(2)).toEqual(['create s1']);
    await end('create s1');
    expect(startedCalls().slice(2)).toEqual(['create s1', 'create s2']);
  });

  test('that stop something do not wait', async () => {
    const a = await fence('a');
    send('RunPodSandbox', a, sandboxOf('a'));
    send('CreateContainer', a, { podSandboxId: 's1' });
    send('StopContainer', a, { containerId: 'c1' });
    await settled();
    expect(startedCalls().sort()).toEqual(['run a', 'stop c1']);
  });

  test('continue after a failed one, whose error contains the time of its end', async () => {
    const a = await fence('a');
    const failed = send('CreateContainer', a, { podSandboxId: 's1' });
    const next = send('StartContainer', a, { containerId: 'c1' });
    await settled();
    runtimeCalls[0]?.fail(failure('Unknown', 'no space left on device'));
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
  ] as const)('are refused when they touch another pod’s %s', async (_what, method, params) => {
    runtime.set('b');
    await worker.call(readPod, 'b', {});
    const outcome = send(method, await fence('a'), params);
    await settled();
    expect(outcome.error).toMatchObject({ code: 'wrong-pod', context: { pod: 'a', owner: 'b' } });
    expect(startedCalls()).toEqual([]);
  });
});

describe('sandboxes', () => {
  test('are created a few at once over all pods, in order; nothing else waits for them', async () => {
    const tokens = await Promise.all(['a', 'b', 'c', 'd'].map((pod) => fence(pod)));
    for (const token of tokens) send('RunPodSandbox', token, sandboxOf(token.pod));
    await settled();
    expect(startedCalls()).toEqual(['run a', 'run b']);
    expect(commands.sandboxes).toEqual({ making: 2, waiting: 2 });
    const e = await fence('e');
    send('CreateContainer', e, { podSandboxId: 's5' });
    await settled();
    expect(startedCalls()).toEqual(['run a', 'run b', 'create s5']);
    await end('run b');
    expect(startedCalls().slice(3)).toEqual(['run c']);
    runtimeCalls[0]?.fail(failure('Unknown', 'broken'));
    await settled();
    expect(startedCalls().slice(3)).toEqual(['run c', 'run d']);
    await end('run c');
    await end('run d');
    expect(commands.sandboxes).toEqual({ making: 0, waiting: 0 });
  });
});

describe('the answer of RunPodSandbox', () => {
  const run = async (pod: string) => {
    const call = worker.call(
      criCommands.RunPodSandbox,
      pod,
      { params: sandboxOf(pod) },
      { fencingToken: await fence(pod) },
    );
    await settled();
    runtime.set(pod);
    await end(`run ${pod}`);
    return (await call).result;
  };

  test('contains the pod, read once after the sandbox was made and before the next command', async () => {
    const token = await fence('a', 1);
    const answer = run('a');
    await settled();
    const before = runtime.reads.pods.length;
    send('CreateContainer', token, { podSandboxId: 's-a' });
    const { at, pod } = await answer;
    expect(pod?.sandboxes.map(({ id, ready }) => [id, ready])).toEqual([['s-a', true]]);
    expect(pod?.stamp.counter).toBeGreaterThan(at.counter);
    expect(runtime.reads.pods.slice(before)).toEqual(['a']);
  });

  test('comes without the pod when it cannot be read', async () => {
    const answer = run('a');
    await settled();
    runtime.before = () => Promise.reject(failure('Unknown', 'disk error'));
    const { at, pod } = await answer;
    expect(at).toMatchObject({ epoch: 7 });
    expect(pod).toBeUndefined();
  });
});

describe('fencing a pod', () => {
  test('waits for running commands, and drops the queued ones', async () => {
    const old = await fence('a', 1);
    send('CreateContainer', old, { podSandboxId: 's1' });
    send('StartContainer', old, { containerId: 'c1' });
    await settled();
    let taken: { at: object } | undefined;
    void worker.call(fencePod, 'a', { hold: 2 }).then(({ result }) => (taken = result));
    await settled();
    expect([startedCalls(), taken]).toEqual([['create s1'], undefined]);
    await end('create s1');
    expect(taken).toMatchObject({ at: { epoch: 7 } });
    expect(startedCalls()).toEqual(['create s1']);
    const token = worker.fencingToken('a', 2);
    send('StartContainer', token, { containerId: 'c2' });
    await settled();
    expect(startedCalls()).toEqual(['create s1', 'start c2']);
  });

  test('drops a sandbox that waits for its turn among all pods, and passes its turn on', async () => {
    for (const pod of ['a', 'b']) send('RunPodSandbox', await fence(pod), sandboxOf(pod));
    const c = await fence('c', 1);
    const d = await fence('d', 1);
    send('RunPodSandbox', c, sandboxOf('c'));
    send('RunPodSandbox', d, sandboxOf('d'));
    await settled();
    await fence('c', 2);
    await end('run a');
    expect(startedCalls()).toEqual(['run a', 'run b', 'run d']);
  });

  test('is refused for an older fencing token, and so are its commands', async () => {
    const newer = await fence('a', 5);
    await expect(fence('a', 4)).rejects.toMatchObject({ code: 'fenced-off' });
    const outcome = send('CreateContainer', worker.fencingToken('a', 4), { podSandboxId: 's1' });
    await settled();
    expect(outcome.error).toMatchObject({ code: 'fenced-off' });
    const unknown = send('CreateContainer', worker.fencingToken('x', 1), { podSandboxId: 's1' });
    await settled();
    expect(unknown.error).toMatchObject({ code: 'not-fenced' });
    expect(startedCalls()).toEqual([]);
    send('CreateContainer', newer, { podSandboxId: 's2' });
    await settled();
    expect(startedCalls()).toEqual(['create s2']);
  });
});

describe('a RunPodSandbox that fences its pod', () => {
  /** Sends it under a new token; `bridge`: the epoch of the bridge that had nothing of the pod. */
  const first = (token: FencingToken, bridge = 7) => {
    const request = { params: sandboxOf(token.pod), fence: { term: 1, bridge } };
    return worker.call(criCommands.RunPodSandbox, token.pod, request, { fencingToken: token }).then(
      () => 'done',
      (error: unknown) => (error as CommandFailed).code,
    );
  };
  const listed = async () => {
    pleg.start(() => undefined);
    await clock.advance(0);
    await settled();
  };
  const listedWithPod = () => {
    runtime.set('a');
    return listed();
  };
  afterEach(() => pleg.stop());

  test('runs when the complete list has nothing of the pod; its token serves the next commands', async () => {
    await listed();
    const token = worker.fencingToken('a', 1);
    const outcome = first(token);
    await settled();
    await end('run a');
    expect(await outcome).toBe('done');
    send('CreateContainer', token, { podSandboxId: 's' });
    await settled();
    expect(startedCalls()).toEqual(['run a', 'create s']);
    await expect(worker.call(fencePod, 'a', { hold: 2, term: 0 })).rejects.toMatchObject({ code: 'fenced-off' });
  });

  test.each<[string, () => Promise<unknown>, number]>([
    ['the list is not complete', () => Promise.resolve(), 7],
    ['the bridge has restarted since', listed, 6],
    ['the runtime has something of the pod', listedWithPod, 7],
    ['the pod was fenced before', () => listed().then(() => fence('a', 1)), 7],
  ])('is refused as not fenced when %s', async (_, prepare, bridge) => {
    await prepare();
    expect(await first(worker.fencingToken('a', 2), bridge)).toBe('not-fenced');
    expect(startedCalls()).toEqual([]);
  });
});

test('a sandbox is annotated with the command that created it', async () => {
  const made: (Readonly<Record<string, string>> | undefined)[] = [];
  runtime.on('RunPodSandbox', ({ config }) => {
    made.push(config?.annotations);
    return Promise.resolve({ podSandboxId: 's' });
  });
  const config = { ...sandboxOf('a').config, annotations: { own: 'stays' } };
  send('RunPodSandbox', await fence('a'), { config });
  await settled();
  const command = broker.said.find(({ headers }) => headers[HEADER.type] === 'runtime.cmd.RunPodSandbox/1');
  const [{ own, [SANDBOX_CAUSE]: carried = '' } = {}] = made;
  expect(own).toBe('stays');
  expect(parseCause(carried)?.id).toBe(decodeEnvelope(command?.headers ?? {}).cause.id);
});

test('the reply to a command that waited in its lane contains when its turn came', async () => {
  const token = await fence('a');
  const start = clock.now();
  send('CreateContainer', token, { podSandboxId: 's' });
  send('StartContainer', token, { containerId: 'c' });
  send('StopContainer', token, { containerId: 'c' });
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
    const { received = '', began } = decodeEnvelope(answer?.headers ?? {});
    return [parseTime(received) - start, began === undefined ? undefined : parseTime(began) - start];
  };
  expect(done('StartContainer')).toEqual([0, 100]);
  // Stopping a pod does not wait.
  expect(done('StopContainer')).toEqual([0, undefined]);
});
