import { describe, expect, test } from '@jest/globals';
import { serviceContracts } from '@kubus/contracts';
import fc from 'fast-check';
import { type PodPaths, causalTree, compare, latencyOf, podTimeline, serviceMap } from '../src/index.ts';
import { mergedOrder } from '../src/latency.ts';
import { ascending, countedQuantile, quantile } from '../src/quantile.ts';
import { Story, heardAt, tellPod } from './story.ts';

function pods(...late: readonly number[]): PodPaths[] {
  const story = new Story();
  late.forEach((ms, index) => tellPod(story, { uid: `u${index}`, at: index * 5_000, late: ms }));
  return late.map((_, index) => podTimeline(`u${index}`, story.messages));
}

const SANDBOX = 'runtime.cmd.RunPodSandbox > cri-bridge runtime.reply.RunPodSandbox';

test('the latency of pods by step', () => {
  const { pods: shown, ms, segments } = latencyOf('start', pods(0, 10, 20));
  expect(shown).toHaveLength(3);
  expect(ms).toEqual([34, 44, 54]);
  expect(segments.map(({ service }) => service)).toEqual(['sync-loop', 'pod-workers', 'cri-bridge', 'pod-workers']);
  const sandbox = { step: SANDBOX, service: 'cri-bridge', ms: [20, 30, 40], p50: 30, p95: 40, max: 40 };
  expect(segments[2]).toEqual(sandbox);
});

test('a step that a pod did not take has no time', () => {
  const [one, other] = pods(0, 0);
  if (one === undefined || other === undefined) throw new Error('no pods');
  const [start] = other.paths;
  const short = { ...other, paths: start === undefined ? [] : [{ ...start, segments: start.segments.slice(0, 2) }] };
  const { segments } = latencyOf('start', [short, one, { ...one, paths: [] }]);
  expect(segments.map(({ ms }) => ms)).toEqual([
    [3, 3],
    [6, 6],
    [null, 20],
    [null, 5],
  ]);
});

describe('a comparison', () => {
  const recording = (...late: number[]) => ({ recording: 'r', pods: pods(...late) });
  const verdicts = (left: Parameters<typeof compare>[1], right: Parameters<typeof compare>[2]) =>
    compare('start', left, right).steps.map(({ verdict }) => verdict);

  test('marks only steps that are slower or faster', () => {
    expect(verdicts(recording(0), recording(50))).toEqual(['same', 'same', 'slower', 'same']);
    expect(verdicts(recording(50), recording(0))).toEqual(['same', 'same', 'faster', 'same']);
    expect(verdicts(recording(0, 1, 2, 3), recording(0, 1, 2, 3))).toEqual(['same', 'same', 'same', 'same']);
  });

  test('marks no step whose difference is within the noise', () => {
    const noisy = [0, 100, 5, 60, 30];
    expect(verdicts(recording(...noisy), recording(...noisy.map((ms) => ms + 20)))).toEqual(Array(4).fill('same'));
  });

  test('aligns steps that only one side has', () => {
    const [whole] = pods(0);
    const [start] = whole?.paths ?? [];
    if (whole === undefined || start === undefined) throw new Error('no path');
    const without = {
      ...whole,
      paths: [{ ...start, segments: start.segments.filter(({ step }) => step !== SANDBOX) }],
    };
    const sides = [
      { recording: 'l', pods: [whole] },
      { recording: 'r', pods: [without] },
    ] as const;
    expect(compare('start', sides[0], sides[1]).steps[2]).toMatchObject({
      step: SANDBOX,
      left: 20,
      verdict: 'missing',
    });
    expect(compare('start', sides[1], sides[0]).steps[2]).toMatchObject({ step: SANDBOX, right: 20, verdict: 'added' });
    expect(compare('start', sides[0], { recording: 'none', pods: [] }).right).toEqual({
      recording: 'none',
      pods: 0,
      ms: 0,
    });
  });
});

test('a merged order has every name once and keeps each order that does not contradict an earlier one', () => {
  const orders = fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 20 }).map(String)), { maxLength: 6 });
  fc.assert(
    fc.property(orders, (all) => {
      const merged = mergedOrder(all);
      expect([...merged].sort()).toEqual([...new Set(all.flat())].sort());
      const places = (all[0] ?? []).map((name) => merged.indexOf(name));
      expect(places).toEqual([...places].sort((a, b) => a - b));
    }),
  );
});

test('the map has every edge of the contract with its recorded counts', () => {
  const work = { service: 'sync-loop', type: 'sync.fact.pod/1', kind: 'fact' } as const;
  const sandbox = { service: 'pod-workers', type: 'runtime.cmd.RunPodSandbox/1', kind: 'cmd' } as const;
  const heard = { type: work.type, service: 'pod-workers' };
  const instance = { instance: 'pod-workers-0', epoch: 3, startedAt: 'then' };
  const { services, edges } = serviceMap(serviceContracts, {
    published: [
      { ...work, messages: 4 },
      { ...work, type: 'sync.fact.pod/2', messages: 1 },
      { ...sandbox, messages: 2 },
      { ...sandbox, service: 'cri-bridge', kind: 'reply', messages: 3 },
    ],
    lately: [{ ...work, messages: 2 }],
    received: [
      { ...heard, ms: 1, messages: 10 },
      { ...heard, ms: 2, messages: 9 },
      { ...heard, ms: 7, messages: 1 },
      { ...heard, service: 'observatory', ms: 3, messages: 1 },
    ],
    instances: new Map([['pod-workers', [instance]]]),
  });
  const of = (name: string) => services.find(({ service }) => service === name);
  expect(of('pod-workers')).toMatchObject({ instances: [instance], messages: 2, rate: 0 });
  expect(of('sync-loop')).toMatchObject({ instances: [], messages: 5, rate: 0.2 });
  expect(of('cri-bridge')).toMatchObject({ messages: 3 });
  const edge = (from: string, to: string, type: string) =>
    edges.find((one) => one.from === from && one.to === to && one.type === type);
  expect(edge('sync-loop', 'pod-workers', 'sync.fact.pod')).toEqual({
    ...{ from: 'sync-loop', to: 'pod-workers', type: 'sync.fact.pod', kind: 'fact', messages: 5, rate: 0.2 },
    ...{ busP50: 1, busP95: 2 },
  });
  const ran = edge('pod-workers', 'cri-bridge', 'runtime.cmd.RunPodSandbox');
  expect(ran).toMatchObject({ messages: 2, rate: 0 });
  expect(ran).not.toHaveProperty('busP50');
  expect(edge('prober', 'pod-workers', 'probe.fact.results')).toMatchObject({ messages: 0, rate: 0 });
});

test('the quantile of counted values equals that of the single values', () => {
  const values = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
      const sorted = ascending(all);
      const counted = [...new Set(sorted)].map((value) => ({
        value,
        count: all.filter((one) => one === value).length,
      }));
      expect(countedQuantile(counted, share)).toBe(quantile(sorted, share));
    }),
  );
  expect(countedQuantile([], 0.5)).toBeNaN();
});

test('the tree has each message once, under the last awaited cause that is recorded', () => {
  const story = new Story();
  const root = story.say('a-0', 1, []);
  const left = story.say('b-0', 2, [heardAt(root, 2)]);
  const right = story.say('b-0', 3, [heardAt(root, 2)]);
  story.say('a-0', 4, [heardAt(right, 4), heardAt(left, 3)]);
  story.say('a-0', 5, [{ ...root, id: 'gone.1.7' }, left]);
  const { briefs } = story;
  const shape = (nodes: ReturnType<typeof causalTree>): unknown =>
    nodes.map(({ message, children }) => [message.at, shape(children)]);
  expect(shape(causalTree([...briefs, ...briefs.slice(0, 2)]))).toEqual([
    [
      1,
      [
        [2, [[5, []]]],
        [3, [[4, []]]],
      ],
    ],
  ]);
});
