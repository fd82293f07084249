import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FencedMethod } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import type { Container, ContainerStatus, CriMethods, PodSandbox } from '@kubus/proto/cri';
import { PodEffects } from '../src/pod/pod-effects.ts';
import { ScriptedRuntime, failure } from './scripted-runtime.ts';

const POD = 'u1';
/** How long a conflicting call is waited for, and the interval between two checks, in milliseconds. */
const LIMIT_MS = 240_000;
const LOOK_AGAIN_MS = 200;

let runtime: ScriptedRuntime;
let clock: ManualClock;
/** The runtime's handler for a requested one. */
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

/** Performs a call; the returned state is updated as it proceeds. */
function perform<M extends FencedMethod>(method: M, params: CriMethods[M]['request']) {
  const state: { result?: object; error?: unknown } = {};
  effects.perform(method, POD, params).then(
    (result) => (state.result = result),
    (error: unknown) => (state.error = error),
  );
  return state;
}

/** A method that fails with `errors`, one after another, and then succeeds. */
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
  unreachable: failure('Unavailable', 'connection lost'),
};

/** The three calls that create or start something, each with what the runtime may list afterwards. */
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

describe('when a call that creates something fails, the runtime’s list decides', () => {
  test.each(table)('$method with $what in the list: $shown', async ({ method, params, made, busy, what, prepare }) => {
    const kinds = { ...errors, busy };
    for (const [kind, error] of Object.entries(kinds)) {
      runtime.calls.length = 0;
      prepare();
      runtime.on(method, failing([error], made));
      const state = perform(method, params);
      await clock.advance(LOOK_AGAIN_MS);
      await settled();
      const again = what === 'nothing' && (kind === 'busy' || kind === 'unreachable');
      if (what === 'it' || again) expect([kind, state]).toEqual([kind, { result: made }]);
      else expect([kind, state]).toEqual([kind, { error }]);
      expect(runtime.count(method)).toBe(again ? 2 : 1);
    }
  });

  test.each(calls)('$method that succeeds is called once, without a check', async (call) => {
    runtime.on(call.method, () => call.made);
    const state = perform(call.method, call.params);
    await settled();
    expect(state).toEqual({ result: call.made });
    expect(runtime.calls).toEqual([{ method: call.method, request: call.params }]);
  });

  test.each(calls)('$method waits until an earlier call has ended, and uses its result', async (call) => {
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

describe('while the runtime is unreachable', () => {
  test('a call waits for the connection, then checks the runtime’s list, and only then is repeated', async () => {
    runtime.setConnection('lost');
    runtime.on('ListPodSandbox', () => ({ items: [] }));
    runtime.on('RunPodSandbox', failing([errors.unreachable], { podSandboxId: 'new' }));
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

  test('a failed check is the outcome', async () => {
    const gone = failure('NotFound', 'an error occurred when try to find container "c1": not found');
    runtime.on('StartContainer', failing([errors.refused], {}));
    runtime.on('ContainerStatus', failing([gone], {}));
    const state = perform('StartContainer', { containerId: 'c1' });
    await settled();
    expect(state).toEqual({ error: gone });
  });
});

describe('calls that stop or remove something', () => {
  const gone = failure('NotFound', 'not found');
  const ends = ['StopContainer', 'StopPodSandbox', 'RemoveContainer', 'RemovePodSandbox'] as const;

  test.each(ends)('%s of something that does not exist succeeds', async (method) => {
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

  test.each(ends)('%s is repeated when the runtime can be reached again', async (method) => {
    runtime.setConnection('lost');
    runtime.on(method, failing([errors.unreachable, errors.unreachable, gone], {}));
    const state = perform(method, {});
    await settled();
    expect([runtime.count(method), state]).toEqual([1, {}]);
    runtime.setConnection('connected');
    await settled();
    expect([runtime.count(method), state]).toEqual([3, { result: {} }]);
    expect(runtime.connectionListeners).toBe(0);
  });

  test.each(['UpdateContainerResources', 'UpdatePodSandboxResources'] as const)(
    '%s is passed on unchanged',
    async (method) => {
      runtime.on(method, failing([gone], {}));
      const first = perform(method, {});
      await settled();
      expect(first).toEqual({ error: gone });
    },
  );
});

describe('the runtime handler of a sandbox', () => {
  test.each([
    ['Kubus’s handler where the runtime has it', undefined, () => 'kubus', { config: {}, runtimeHandler: 'kubus' }],
    ['the runtime’s default otherwise', undefined, () => undefined, { config: {} }],
    [
      'Kubus’s variant of the RuntimeClass’s handler',
      'vm',
      (name: string) => `own-${name}`,
      { config: {}, runtimeHandler: 'own-vm' },
    ],
  ])('is %s', async (_which, wanted, known, request) => {
    handler = known;
    runtime.on('RunPodSandbox', () => ({ podSandboxId: 'new' }));
    perform('RunPodSandbox', { config: {}, ...(wanted !== undefined && { runtimeHandler: wanted }) });
    await settled();
    expect(runtime.calls).toEqual([{ method: 'RunPodSandbox', request }]);
  });
});
