import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FencedMethod } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { Container, ContainerStatus, CriMethods, PodSandbox } from '@kubus/proto/cri';
import { PodEffects } from '../src/pod-effects.ts';
import { ScriptedRuntime, failure } from './scripted-runtime.ts';

const POD = 'u1';
/** How long something that is in the way is waited for, and between two looks at it: milliseconds. */
const LIMIT_MS = 240_000;
const LOOK_AGAIN_MS = 200;

let runtime: ScriptedRuntime;
let clock: ManualClock;
/** What the runtime has for a wanted handler. */
let handler: (wanted: string) => string | undefined;
let effects: PodEffects;

beforeEach(() => {
  runtime = new ScriptedRuntime();
  clock = new ManualClock();
  handler = () => undefined;
  effects = new PodEffects({
    runtime,
    clock,
    logger: silentLogger,
    handler: (wanted) => Promise.resolve(handler(wanted)),
  });
});

/** What becomes of an effect, followed by the test while it goes on. */
function perform<M extends FencedMethod>(method: M, params: CriMethods[M]['request']) {
  const state: { result?: object; error?: unknown } = {};
  effects.perform(method, POD, params).then(
    (result) => (state.result = result),
    (error: unknown) => (state.error = error),
  );
  return state;
}

/** A method that fails as `errors` say, one after another, and then does what it should. */
function failing<T extends object>(errors: readonly Error[], result: T) {
  const left = [...errors];
  return () => {
    const error = left.shift();
    if (error !== undefined) throw error;
    return result;
  };
}

const errors = {
  refused: failure('Unknown', 'no space left on device'),
  late: failure('DeadlineExceeded', 'context deadline exceeded'),
  away: failure('Unavailable', 'connection lost'),
};

/** The three calls that make or start something, each with what the runtime may show afterwards. */
const calls = [
  {
    method: 'RunPodSandbox',
    params: { config: { metadata: { name: 'web', uid: POD, namespace: 'default', attempt: 1 } } },
    made: { podSandboxId: 'new' },
    busy: failure('Unknown', 'failed to reserve sandbox name "web": name "web" is reserved for "s9"'),
    show: (...items: PodSandbox[]) => runtime.on('ListPodSandbox', () => ({ items })),
    nothing: [undefined, { id: 's0', metadata: { attempt: 0 }, state: 'SANDBOX_READY' }],
    wanted: [{ id: 'new', metadata: { attempt: 1 }, state: 'SANDBOX_READY' }],
    unusable: [{ id: 'new', metadata: { attempt: 1 }, state: 'SANDBOX_NOTREADY' }],
  },
  {
    method: 'CreateContainer',
    params: { podSandboxId: 's1', config: { metadata: { name: 'main', attempt: 2 } } },
    made: { containerId: 'new' },
    busy: failure('Unknown', 'failed to reserve container name "main": name "main" is reserved for "c9"'),
    show: (...containers: Container[]) => runtime.on('ListContainers', () => ({ containers })),
    nothing: [
      undefined,
      { id: 'c0', metadata: { name: 'main', attempt: 1 }, state: 'CONTAINER_CREATED' },
      { id: 'c0', metadata: { name: 'side', attempt: 2 }, state: 'CONTAINER_CREATED' },
    ],
    wanted: [{ id: 'new', metadata: { name: 'main', attempt: 2 }, state: 'CONTAINER_CREATED' }],
    unusable: (['CONTAINER_RUNNING', 'CONTAINER_EXITED', 'CONTAINER_UNKNOWN'] as const).map((state) => ({
      id: 'new',
      metadata: { name: 'main', attempt: 2 },
      state,
    })),
  },
  {
    method: 'StartContainer',
    params: { containerId: 'c1' },
    made: {},
    busy: failure('Unknown', 'failed to start container "c1": container is already in starting state'),
    show: (status?: ContainerStatus) => runtime.on('ContainerStatus', () => (status === undefined ? {} : { status })),
    nothing: [{ state: 'CONTAINER_CREATED', startedAt: '0' }],
    wanted: [
      { state: 'CONTAINER_RUNNING', startedAt: '5' },
      { state: 'CONTAINER_EXITED', startedAt: '5' },
    ],
    unusable: [{ state: 'CONTAINER_EXITED', startedAt: '0' }, { state: 'CONTAINER_EXITED' }, undefined],
  },
] as const;

const table = calls.flatMap(({ nothing, wanted, unusable, show, ...call }) => {
  const see = show as (thing?: object) => void;
  const row = (what: string, things: readonly (object | undefined)[]) =>
    things.map((thing) => ({
      ...call,
      what,
      shown: JSON.stringify(thing ?? null),
      prepare: () => (thing === undefined ? see() : see(thing)),
    }));
  return [...row('nothing', nothing), ...row('it', wanted), ...row('something unusable', unusable)];
});

describe('when a call that makes something fails, what the runtime shows decides', () => {
  test.each(table)('$method with $what there: $shown', async ({ method, params, made, busy, what, prepare }) => {
    const kinds = { ...errors, busy };
    for (const [kind, error] of Object.entries(kinds)) {
      runtime.calls.length = 0;
      prepare();
      runtime.on(method, failing([error], made));
      const state = perform(method, params);
      await clock.advance(LOOK_AGAIN_MS);
      await settled();
      const again = what === 'nothing' && (kind === 'busy' || kind === 'away');
      if (what === 'it' || again) expect([kind, state]).toEqual([kind, { result: made }]);
      else expect([kind, state]).toEqual([kind, { error }]);
      expect(runtime.count(method)).toBe(again ? 2 : 1);
    }
  });

  test.each(calls)('$method that succeeds is called once, and nothing is looked at', async (call) => {
    runtime.on(call.method, () => call.made);
    const state = perform(call.method, call.params);
    await settled();
    expect(state).toEqual({ result: call.made });
    expect(runtime.calls).toEqual([{ method: call.method, request: call.params }]);
  });

  test.each(calls)('$method waits for an earlier call until it is through, and takes what that made', async (call) => {
    const see = call.show as (thing?: object) => void;
    const [nothing] = call.nothing;
    const [wanted] = call.wanted;
    if (nothing === undefined) see();
    else see(nothing);
    runtime.on(call.method, () => {
      throw call.busy;
    });
    const state = perform(call.method, call.params);
    await clock.advance(10 * LOOK_AGAIN_MS);
    expect(state).toEqual({});
    see(wanted);
    await clock.advance(LOOK_AGAIN_MS);
    await settled();
    expect(state).toEqual({ result: call.made });
  });

  test.each(calls)('$method does not wait longer than any call can last', async (call) => {
    const see = call.show as (thing?: object) => void;
    const [nothing] = call.nothing;
    if (nothing === undefined) see();
    else see(nothing);
    runtime.on(call.method, () => {
      throw call.busy;
    });
    const state = perform(call.method, call.params);
    await clock.advance(LIMIT_MS);
    expect(state).toEqual({});
    await clock.advance(2 * LOOK_AGAIN_MS);
    await settled();
    expect(state).toEqual({ error: call.busy });
    expect(clock.waits).toEqual([]);
  });
});

describe('while the runtime is away', () => {
  test('a call waits for it, then looks, and only then goes on', async () => {
    runtime.setConnection('lost');
    runtime.on('ListPodSandbox', () => ({ items: [] }));
    runtime.on('RunPodSandbox', failing([errors.away], { podSandboxId: 'new' }));
    const state = perform('RunPodSandbox', {});
    await settled();
    expect(runtime.calls.map(({ method }) => method)).toEqual(['RunPodSandbox']);
    runtime.setConnection('connected');
    await clock.advance(LOOK_AGAIN_MS);
    await settled();
    expect(runtime.calls.map(({ method }) => method)).toEqual(['RunPodSandbox', 'ListPodSandbox', 'RunPodSandbox']);
    expect(state).toEqual({ result: { podSandboxId: 'new' } });
    expect(runtime.connectionListeners).toBe(0);
  });

  test('a look that fails is the outcome: nobody knows more', async () => {
    const gone = failure('NotFound', 'an error occurred when try to find container "c1": not found');
    runtime.on('StartContainer', failing([errors.refused], {}));
    runtime.on('ContainerStatus', failing([gone], {}));
    const state = perform('StartContainer', { containerId: 'c1' });
    await settled();
    expect(state).toEqual({ error: gone });
  });
});

describe('calls that end something', () => {
  const gone = failure('NotFound', 'not found');
  const ends = ['StopContainer', 'StopPodSandbox', 'RemoveContainer', 'RemovePodSandbox'] as const;

  test.each(ends)('%s of what is not there is done', async (method) => {
    runtime.on(method, failing([gone], {}));
    const state = perform(method, {});
    await settled();
    expect(state).toEqual({ result: {} });
    expect(runtime.count(method)).toBe(1);
  });

  test.each(ends)('%s that the runtime refuses fails at once', async (method) => {
    runtime.on(method, failing([errors.refused], {}));
    const state = perform(method, {});
    await settled();
    expect(state).toEqual({ error: errors.refused });
  });

  test.each(ends)('%s is made again when the runtime is back', async (method) => {
    runtime.setConnection('lost');
    runtime.on(method, failing([errors.away, errors.away, gone], {}));
    const state = perform(method, {});
    await settled();
    expect([runtime.count(method), state]).toEqual([1, {}]);
    runtime.setConnection('connected');
    await settled();
    expect([runtime.count(method), state]).toEqual([3, { result: {} }]);
    expect(runtime.connectionListeners).toBe(0);
  });

  test.each(['UpdateContainerResources', 'UpdatePodSandboxResources'] as const)(
    '%s is passed on as it is',
    async (method) => {
      runtime.on(method, failing([gone], {}));
      const first = perform(method, {});
      await settled();
      expect(first).toEqual({ error: gone });
    },
  );
});

describe('the handler of a sandbox', () => {
  test.each([
    ['ours where the runtime has it', undefined, () => 'kubus', { config: {}, runtimeHandler: 'kubus' }],
    ['the runtime’s own where it has not', undefined, () => undefined, { config: {} }],
    ['that of the class in our form', 'vm', (name: string) => `own-${name}`, { config: {}, runtimeHandler: 'own-vm' }],
  ])('is %s', async (_which, wanted, known, request) => {
    handler = known;
    runtime.on('RunPodSandbox', () => ({ podSandboxId: 'new' }));
    perform('RunPodSandbox', { config: {}, ...(wanted !== undefined && { runtimeHandler: wanted }) });
    await settled();
    expect(runtime.calls).toEqual([{ method: 'RunPodSandbox', request }]);
  });
});
