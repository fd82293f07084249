import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Cause } from '@kubus/bus';
import { type LocalMember, LocalBroker } from '@kubus/bus/testing';
import {
  type RuntimeContainer,
  type RuntimePod,
  type Stamp,
  compareStamps,
  criCommands,
  fencePod,
  readPod,
} from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import * as fc from 'fast-check';
import { FencingTokenLost, PodRuntime } from '../src/runtime/pod-runtime.ts';

const POD = 'a';
/** How long a fact is waited for before the pod is read. */
const FACT_MS = 500;
const cause: Cause = { id: 'x.1.1', traceId: '0'.repeat(32), spanId: '0'.repeat(16) };

/** The bridge's side: gives stamps, and refuses commands as the test wants. */
class Bridge {
  readonly member: LocalMember;
  readonly epoch: number;
  counter = 0;
  reads = 0;
  fences: number[] = [];
  /** The tokens under which sandboxes were made. */
  runs: number[] = [];
  refusal: KubusError | undefined;
  gate: Promise<unknown> = Promise.resolve();

  constructor(broker: LocalBroker, clock: ManualClock, epoch: number) {
    this.epoch = epoch;
    this.member = broker.join('cri-bridge', clock, epoch);
    const { bus } = this.member;
    bus.serve(fencePod, async ({ key, source, request }) => {
      this.fences.push(request.hold);
      await bus.fence(key, source, request.hold, request.term);
      const pod = this.state();
      return { pod, at: pod.stamp };
    });
    bus.serve(readPod, () => {
      this.reads += 1;
      const pod = this.state();
      return Promise.resolve({ pod, at: pod.stamp });
    });
    bus.serve(
      criCommands.RunPodSandbox,
      (command) => {
        command.begin();
        this.runs.push(command.token);
        return Promise.resolve({ response: { podSandboxId: 's' }, at: this.stamp(), pod: this.state() });
      },
      { fencesFirst: ({ request: { fence } }) => (fence?.bridge === this.epoch ? fence.term : undefined) },
    );
    bus.serve(criCommands.StartContainer, async (command) => {
      command.begin();
      await this.gate;
      const at = this.stamp();
      const { refusal } = this;
      if (refusal === undefined) return { response: {}, at };
      const context = { endEpoch: at.epoch, endCounter: at.counter };
      throw new KubusError(refusal.code, refusal.message, { context });
    });
  }

  stamp(): Stamp {
    return { epoch: this.epoch, counter: ++this.counter };
  }

  /** The state that a read returns that begins now. */
  state(): RuntimePod {
    return { ref: { uid: POD, name: 'a', namespace: 'default' }, stamp: this.stamp(), sandboxes: [], containers: [] };
  }
}

function bench() {
  const clock = new ManualClock();
  const broker = new LocalBroker('node0');
  const bridge = new Bridge(broker, clock, 1);
  const tokens = { given: 0, fencedOff: 0, term: 3 };
  /** The epoch of the bridge that has nothing of the pod. */
  const absent: { at: number | undefined } = { at: undefined };
  const { bus } = broker.join('pod-workers', clock);
  const runtime = new PodRuntime({
    bus,
    clock,
    uid: POD,
    nextToken: (fencedOff) => {
      tokens.given += fencedOff ? 100 : 1;
      if (fencedOff) tokens.fencedOff += 1;
      return tokens.given;
    },
    ownership: tokens,
    isNew: true,
    absentAt: () => absent.at,
  });
  const start = () => runtime.change('StartContainer', { containerId: 'c' }, []);
  const run = () => runtime.change('RunPodSandbox', {}, []);
  return { clock, broker, bridge, tokens, absent, bus, runtime, start, run };
}

let all: ReturnType<typeof bench>;
beforeEach(() => {
  all = bench();
});

describe('a new pod', () => {
  test('of which the bridge has nothing is fenced by its first command', async () => {
    const { runtime, bridge, absent, run, start } = all;
    absent.at = 1;
    expect(await runtime.beforeStart([])).toBeUndefined();
    expect(runtime.at).toEqual({ epoch: 1, counter: 0 });
    await run();
    expect([bridge.fences, bridge.runs]).toEqual([[], [1]]);
    expect((await runtime.beforeStart([]))?.stamp.counter).toBe(2);
    await start();
    expect(bridge.fences).toEqual([]);
    await expect(bridge.member.bus.fence(POD, 'pod-workers-1', 99, 2)).rejects.toMatchObject({ code: 'fenced-off' });
  });

  test.each([
    ['the bridge has restarted', (one: typeof all) => Promise.resolve((one.absent.at = 0))],
    ['has another owner', ({ bridge }: typeof all) => bridge.member.bus.fence(POD, 'pod-workers-1', 50, 1)],
  ])('is fenced and read first when %s', async (_, change) => {
    const { runtime, bridge, absent, run } = all;
    absent.at = 1;
    await runtime.beforeStart([]);
    await change(all);
    await expect(run()).rejects.toThrow(FencingTokenLost);
    expect(bridge.runs).toEqual([]);
    absent.at = 1;
    expect((await runtime.beforeStart([]))?.stamp.counter).toBe(1);
    expect(bridge.fences).toEqual([2]);
    await run();
    expect(bridge.runs).toEqual([2]);
  });

  test.each([
    ['its end', ({ runtime }: typeof all) => runtime.fresh([])],
    ['anything but its start', ({ runtime, start }: typeof all) => runtime.beforeStart([]).then(start)],
  ])('is fenced and read before %s', async (_, act) => {
    const { runtime, bridge, absent } = all;
    absent.at = 1;
    await act(all).catch(() => undefined);
    await runtime.beforeStart([]);
    expect(bridge.fences).toEqual([1]);
  });
});

describe('a fresh state', () => {
  test('comes from the fence at first, and stays fresh without a change', async () => {
    const { runtime, bridge } = all;
    const state = await runtime.fresh([]);
    expect(state?.stamp).toEqual({ epoch: 1, counter: 1 });
    expect(await runtime.fresh([])).toBe(state);
    expect([bridge.fences, bridge.reads]).toEqual([[1], 0]);
  });

  test('is returned when the pod is assigned again during a request under an older term', async () => {
    const { runtime, bridge, tokens } = all;
    await bridge.member.bus.fence(POD, 'pod-workers-0', 1_000, 5);
    const fresh = runtime.fresh([]);
    tokens.term = 5;
    tokens.given = 1_000;
    expect((await fresh)?.stamp.epoch).toBe(1);
    expect(bridge.fences).toEqual([1, 1_100]);
  });

  test('after a command is the first one whose read began later, if it arrives by itself', async () => {
    const { runtime, bridge, start } = all;
    await runtime.fresh([]);
    const early = bridge.state();
    await start();
    let fresh: RuntimePod | undefined;
    void runtime.fresh([]).then((pod) => (fresh = pod));
    runtime.observe(early, cause);
    await settled();
    expect(fresh).toBeUndefined();
    const late = bridge.state();
    runtime.observe(late, cause);
    await settled();
    expect(fresh).toBe(late);
    expect(bridge.reads).toBe(0);
  });

  test('is requested when none arrives by itself', async () => {
    const { runtime, bridge, start, clock } = all;
    await runtime.fresh([]);
    await start();
    const fresh = runtime.fresh([]);
    await clock.advance(FACT_MS - 1);
    expect(bridge.reads).toBe(0);
    await clock.advance(1);
    expect((await fresh)?.stamp).toEqual({ epoch: 1, counter: 3 });
    expect(bridge.reads).toBe(1);
    expect(clock.waits.filter((ms) => ms <= FACT_MS)).toEqual([]);
  });

  test('is requested at once when the pod was removed from the runtime, also while a fact is waited for', async () => {
    const { runtime, bridge, start } = all;
    await runtime.fresh([]);
    runtime.observeRemoval(cause);
    await runtime.fresh([]);
    expect(bridge.reads).toBe(1);
    await start();
    const fresh = runtime.fresh([]);
    await settled();
    expect(bridge.reads).toBe(1);
    runtime.observeRemoval(cause);
    await fresh;
    expect(bridge.reads).toBe(2);
    // A state that follows the removal.
    runtime.observeRemoval(cause);
    const state = bridge.state();
    runtime.observe(state, cause);
    expect([await runtime.fresh([]), bridge.reads]).toEqual([state, 2]);
  });

  test('is also needed after a failed command', async () => {
    const { runtime, bridge, start, clock } = all;
    await runtime.fresh([]);
    bridge.refusal = new KubusError('Unknown', 'broken');
    await expect(start()).rejects.toMatchObject({ code: 'Unknown', message: 'broken' });
    const fresh = runtime.fresh([]);
    await clock.advance(FACT_MS);
    await fresh;
    expect(bridge.reads).toBe(1);
  });

  test('is never one whose read began before the last command ended, in any order of messages', async () => {
    const steps = fc.array(fc.constantFrom('command', 'read', 'deliver first', 'deliver last', 'fresh'), {
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const { runtime, bridge, start, clock } = bench();
        await runtime.fresh([]);
        const underWay: RuntimePod[] = [];
        let ended = 0;
        for (const step of sequence) {
          if (step === 'command') {
            await start();
            ended = bridge.counter;
          } else if (step === 'read') underWay.push(bridge.state());
          else if (step === 'fresh') {
            const fresh = runtime.fresh([]);
            await clock.advance(FACT_MS);
            expect((await fresh)?.stamp.counter).toBeGreaterThan(ended);
          } else {
            const pod = step === 'deliver first' ? underWay.shift() : underWay.pop();
            const known = runtime.at;
            if (pod === undefined) continue;
            const newer = known === undefined || compareStamps(pod.stamp, known) > 0;
            expect(runtime.observe(pod, cause)).toBe(newer);
            expect(runtime.at).toEqual(newer ? pod.stamp : known);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('a change', () => {
  const sandbox = { id: 's', attempt: 0, ready: true, createdAt: '0', ips: [], runtimeHandler: '' };
  const container = {
    ...{ id: 'c', name: 'main', attempt: 0, sandboxId: 's', createdAt: '1', startedAt: '0', finishedAt: '0' },
    ...{ exitCode: 0, reason: '', message: '', image: '', imageRef: '', imageId: '', logPath: '', annotations: {} },
  };

  test('is a state that says something else than the one that was decided on, and not one that was only read again', async () => {
    const { runtime, bridge } = all;
    await runtime.fresh([]);
    runtime.decideOn();
    runtime.observe(bridge.state(), cause);
    expect(runtime.takeChange()).toBe(false);
    runtime.observe({ ...bridge.state(), sandboxes: [sandbox] }, cause);
    expect([runtime.takeChange(), runtime.takeChange()]).toEqual([true, false]);
  });

  test('made from here is none, seen before or after the end of the sync; a later one of the same thing is', async () => {
    const { runtime, bridge, start } = all;
    const ofContainer = (state: RuntimeContainer['state']): RuntimePod => ({
      ...bridge.state(),
      containers: [{ ...container, state }],
    });
    await runtime.fresh([]);
    runtime.observe(ofContainer('created'), cause);
    runtime.decideOn();
    await start();
    expect(runtime.takeChange()).toBe(false);
    runtime.observe(ofContainer('running'), cause);
    expect(runtime.takeChange()).toBe(false);
    runtime.observe(ofContainer('exited'), cause);
    expect(runtime.takeChange()).toBe(true);
  });

  test('beside one that was made from here is one', async () => {
    const { runtime, bridge, run } = all;
    await runtime.fresh([]);
    runtime.decideOn();
    await run();
    runtime.observe({ ...bridge.state(), sandboxes: [sandbox, { ...sandbox, id: 'other' }] }, cause);
    expect(runtime.takeChange()).toBe(true);
  });
});

describe('the fencing token', () => {
  test('is needed for every change', async () => {
    await expect(all.start()).rejects.toThrow(FencingTokenLost);
  });

  test('is taken again with a greater number after it was dropped', async () => {
    const { runtime, bridge, start } = all;
    await runtime.fresh([]);
    runtime.dropFencingToken();
    await expect(start()).rejects.toThrow(FencingTokenLost);
    await runtime.fresh([]);
    await start();
    expect(bridge.fences).toEqual([1, 2]);
  });

  test('is lost for a running command when it is dropped', async () => {
    const { runtime, bridge, start } = all;
    await runtime.fresh([]);
    const gate = Promise.withResolvers<undefined>();
    bridge.gate = gate.promise;
    const change = start();
    await settled();
    runtime.dropFencingToken();
    await expect(change).rejects.toThrow(FencingTokenLost);
    gate.resolve(undefined);
  });

  test('is lost when a later owner fences the pod, and taken back with a number of a later epoch', async () => {
    const { runtime, bridge, start, tokens, bus } = all;
    await runtime.fresh([]);
    await bus.call(fencePod, POD, { hold: 50, term: 3 });
    await expect(start()).rejects.toThrow(FencingTokenLost);
    await runtime.fresh([]);
    await start();
    expect(bridge.fences).toEqual([1, 50, 2, 102]);
    expect(tokens.fencedOff).toBe(1);
  });

  test('of another instance with a greater term is not taken back until the pod is assigned again', async () => {
    const { runtime, bridge, start, tokens, broker, clock } = all;
    await runtime.fresh([]);
    const other = broker.join('pod-workers', clock, 1, 1).bus;
    await other.call(fencePod, POD, { hold: 1, term: 4 });
    await expect(start()).rejects.toThrow(FencingTokenLost);
    await expect(runtime.fresh([])).rejects.toThrow('another instance owns the pod');
    expect(tokens.fencedOff).toBe(0);
    tokens.term = 5;
    await runtime.fresh([]);
    await start();
    expect(bridge.fences).toEqual([1, 1, 2, 3]);
  });

  test('is unknown to a restarted bridge, so that the pod is fenced and read again and older states are ignored', async () => {
    const { runtime, bridge, broker, clock, start } = all;
    await runtime.fresh([]);
    bridge.member.leave();
    const next = new Bridge(broker, clock, 2);
    await expect(start()).rejects.toThrow(FencingTokenLost);
    const fresh = await runtime.fresh([]);
    expect(fresh?.stamp).toEqual({ epoch: 2, counter: 1 });
    expect(runtime.observe(bridge.state(), cause)).toBe(false);
    expect(runtime.pod).toBe(fresh);
    expect(next.fences).toEqual([2]);
  });
});
