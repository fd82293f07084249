import { describe, expect, test } from '@jest/globals';
import { Publisher, type WireMessage } from '@kubus/bus';
import { type RecordedMessage, recordedMessage } from '@kubus/causality';
import { type AnyDeclaration, type RuntimeContainer, desiredPods, podWork, runtimePod } from '@kubus/contracts';
import { stringify } from 'yaml';
import { type RunResult, markdownOf, parseExperiment, podEnding, podLatencies, reportOf } from '../src/index.ts';

/** Messages about one pod, at chosen times in milliseconds. */
class Record {
  readonly messages: RecordedMessage[] = [];
  #now = 0;
  readonly #publisher = new Publisher({
    publisherId: { instance: 'a-0', epoch: 1, node: 'n' },
    clock: { now: () => this.#now, after: () => () => undefined },
    ids: { hex: (bytes) => 'ab'.repeat(bytes), fraction: () => 0 },
  });

  say(declaration: AnyDeclaration, at: number, payload: object | undefined): this {
    this.#now = at;
    const { headers } = this.#publisher.stamp(declaration, { pod: 'u' });
    const removed: { readonly [header: string]: string } = payload === undefined ? { 'Kubus-Removed': 'true' } : {};
    const data = payload === undefined ? '' : JSON.stringify(payload);
    const wire: WireMessage = { subject: 's', headers: { ...headers, ...removed }, data };
    const recorded = recordedMessage(wire);
    if (recorded === undefined) throw new Error('the message was not stamped as one of a node');
    this.messages.push(recorded);
    return this;
  }

  runtime(at: number, containers: readonly Partial<RuntimeContainer>[]): this {
    const whole = containers.map((one) => ({
      ...{ name: 'main', sandboxId: 's', state: 'running', createdAt: '1', exitCode: 0, reason: '', message: '' },
      ...{ image: 'i', imageRef: 'r', imageId: 'd', logPath: '/l', annotations: {}, finishedAt: '0', attempt: 0 },
      ...one,
    }));
    const ref = { namespace: 'default', name: 'p', uid: 'u' };
    return this.say(runtimePod, at, { ref, stamp: { epoch: 1, counter: at }, sandboxes: [], containers: whole });
  }
}

const works = { ref: { namespace: 'default', name: 'p', uid: 'u' }, source: 'api', reason: 'desired' } as const;
const work = (what: string) => ({ ...works, work: what, worker: 'pod-workers-0', firstSeen: '2026-01-01T00:00:00Z' });

const nanos = (ms: number) => String(ms * 1e6);

test('the latencies of a pod are those of the node’s record', () => {
  const record = new Record()
    .say(desiredPods.file, 100, {})
    .runtime(400, [
      { id: 'a', startedAt: nanos(350) },
      { id: 'x', name: 'side', startedAt: nanos(360) },
    ])
    .runtime(1500, [{ id: 'a', state: 'exited', startedAt: nanos(350), finishedAt: nanos(1400) }])
    .runtime(2100, [{ id: 'b', attempt: 1, startedAt: nanos(2050) }])
    .say(desiredPods.file, 3000, undefined)
    .say(runtimePod, 3250, undefined);
  expect(podLatencies(record.messages)).toEqual({ start: 260, restarts: [650], stop: 250 });
});

test('a pod of the API stops from its deletion on, not from when nothing is left of it', () => {
  const pod = { metadata: { name: 'p', uid: 'u' }, spec: { containers: [] } };
  const desired = (operation: string) => ({ operation, source: 'api', pod });
  const record = new Record()
    .say(desiredPods.api, 100, desired('ADD'))
    .say(desiredPods.api, 3000, desired('DELETE'))
    .say(runtimePod, 3250, undefined)
    .say(desiredPods.api, 3400, undefined);
  expect(podLatencies(record.messages)).toEqual({ start: undefined, restarts: [], stop: 250 });
});

describe('under pressure', () => {
  const killed = { id: 'a', state: 'exited', reason: 'OOMKilled', startedAt: nanos(350) } as const;

  test('a container that the kernel killed counts, if nothing else had ended it before', () => {
    const record = new Record()
      .say(podWork, 100, work('sync'))
      .runtime(1500, [{ ...killed, finishedAt: nanos(1400) }])
      .say(podWork, 3000, work('kill'));
    expect(podEnding(record.messages)).toEqual({ evicted: false, oomKilled: 1 });
    const late = new Record()
      .say(podWork, 100, work('sync'))
      .say(podWork, 3000, work('kill'))
      .runtime(3500, [{ ...killed, finishedAt: nanos(3400) }]);
    expect(podEnding(late.messages)).toEqual({ evicted: false, oomKilled: 0 });
  });

  test('an evicted pod is evicted, whatever the runtime says of its containers', () => {
    const record = new Record()
      .say(podWork, 100, work('sync'))
      .say(podWork, 1000, work('evict'))
      .runtime(1500, [{ ...killed, finishedAt: nanos(1400) }]);
    expect(podEnding(record.messages)).toEqual({ evicted: true, oomKilled: 0 });
  });
});

test('steps that did not happen are not measured', () => {
  expect(podLatencies([])).toEqual({ start: undefined, restarts: [], stop: undefined });
  const created = new Record().say(desiredPods.file, 100, {}).runtime(200, [
    { id: 'a', state: 'created', startedAt: '0' },
    { id: 'x', name: 'side', startedAt: nanos(150) },
  ]);
  expect(podLatencies(created.messages)).toEqual({ start: undefined, restarts: [], stop: undefined });
});

const experiment = parseExperiment(
  stringify({
    name: 'slow',
    about: 'What it shows.',
    repetitions: 3,
    measure: ['start', 'restart'],
    workload: {
      pods: [{ template: { metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'i' }] } } }],
    },
    faults: [
      { delay: 'runtime.fact.pod.*', by: '500ms', reader: 'sync-loop', for: '9s' },
      { pause: 'prober', for: '2s', at: '1s' },
    ],
  }),
  'slow.yaml',
);

function run(number: number, arm: string, start: readonly number[], late: readonly string[] = []): RunResult {
  return { number, repetition: 1, arm, late, values: { start, restart: [], stop: [], cpu: [40] } };
}

test('the report has the measurements as Markdown and as JSON', () => {
  const runs = [run(1, 'faults', [700, 720]), run(2, 'baseline', [200, 220]), run(3, 'baseline', [240], ['web-3-0-1'])];
  const report = reportOf(experiment, runs);
  expect(report.measures).toMatchObject([
    {
      measure: 'start',
      arms: [
        { arm: 'baseline', count: 3, mean: 220, median: 220 },
        { arm: 'faults', count: 2, mean: 710, median: 710 },
      ],
      medianDifference: { estimate: 490 },
    },
    { measure: 'restart', arms: [{ count: 0 }, { count: 0 }] },
  ]);
  expect(reportOf(experiment, runs)).toEqual(report);
  const text = markdownOf(report);
  expect(text).toContain(
    '  - delay by 500 ms runtime.fact.pod.* delivered to sync-loop, from the beginning for 9000 ms',
  );
  expect(text).toContain('  - pause prober for 2000 ms, after 1000 ms');
  expect(text).toContain('| start of a pod, ms | baseline | 3 | 220.0 | 220.0 |  |  |');
  expect(text).toMatch(
    /^\| {2}\| faults \| 2 \| 710\.0 \| 710\.0 \| \+490\.0 \(\+\d+\.\d to \+\d+\.\d\) \| \+490\.0 \(/m,
  );
  expect(text).toContain('| restart of a container, ms | baseline | 0 | - | - |  |  |');
  expect(text).toContain('- web-3-0-1 (baseline)');
});
