import { describe, expect, test } from '@jest/globals';
import { HEADER, withStartTime, type Cause } from '@kubus/bus';
import fc from 'fast-check';
import { criticalPaths, podSummary, podTimeline, spentBetween } from '../src/index.ts';
import { REF, Story, heardAt, tellPod } from './story.ts';

describe('the time between a cause and its effect', () => {
  const story = new Story();
  const first = story.say('a-0', 100, []);
  const early = story.say('a-0', 101, []);
  const heard = story.say('b-0', 112, [heardAt(early, 103), heardAt(first, 104)]);
  const begun = story.say('b-0', 120, [heardAt(first, 104, 110)]);
  const own = story.say('b-0', 125, [heard]);

  test.each<[string, Cause, Cause, number[]]>([
    ['the cause received last is the first; its time is split into bus and work', first, heard, [4, 0, 8]],
    ['for other causes, all time counts as work', early, heard, [0, 0, 11]],
    ['time in a queue is shown separately', first, begun, [4, 6, 10]],
    ['within one service there is no bus time', heard, own, [0, 0, 13]],
  ])('%s', (_, cause, effect, times) => {
    const { busMs, queueMs, workMs } = spentBetween(story.find(cause), story.find(effect));
    expect([busMs, queueMs, workMs]).toEqual(times);
  });

  test('a clock that was set back gives no negative times and no invalid queue time', () => {
    const strange = new Story();
    const cause = strange.say('a-0', 100, []);
    const effect = strange.say('b-0', 102, [withStartTime(heardAt(cause, 105), 107)]);
    expect(strange.messages.at(-1)?.message.headers[HEADER.began]).toBeUndefined();
    expect(spentBetween(strange.find(cause), strange.find(effect))).toEqual({ busMs: 2, queueMs: 0, workMs: 0 });
  });
});

describe('the story of a pod', () => {
  const story = new Story();
  tellPod(story, { uid: 'other', at: 1 });
  tellPod(story);
  story.say('cri-bridge-0', 5, [], { type: 'runtime.fact.images/1' });
  const timeline = podTimeline(REF.uid, story.messages);

  test('has its messages and their causes in the order of publication, and the services in pod order', () => {
    expect(timeline.messages.map(({ service, type }) => `${service} ${type}`)).toEqual([
      'config-sources config.fact.manifest/1',
      'config-sources config.fact.file/1',
      'sync-loop sync.fact.pod/1',
      'pod-workers runtime.cmd.RunPodSandbox/1',
      'cri-bridge runtime.cmd.RunPodSandbox/1',
      'pod-workers worker.fact.status/1',
      'config-sources config.fact.file/1',
      'sync-loop sync.fact.pod/1',
      'pod-workers worker.fact.state/1',
    ]);
    expect(timeline.services).toEqual(['config-sources', 'sync-loop', 'pod-workers', 'cri-bridge']);
  });

  test('summarizes the pod', () => {
    const { pod } = timeline;
    expect(pod).toEqual({
      ...{ uid: 'u1', namespace: 'default', name: 'web-u1', firstAt: 1, lastAt: 1050, messages: 8 },
      ...{ phase: 'Running', ready: true, worker: 'finished', state: 'deleted', startMs: 34, stopMs: 50 },
    });
    expect(podSummary(REF.uid, story.messages)).toEqual(pod);
  });

  test('pairs commands with their results', () => {
    const [run, result] = timeline.messages.filter(({ type }) => type.startsWith('runtime.cmd'));
    expect(timeline.spans).toEqual([
      { name: 'RunPodSandbox', service: 'cri-bridge', from: 15, to: 30, messages: [run?.id, result?.id] },
    ]);
  });

  test('has its critical paths, whose times add up', () => {
    const [start, stop] = timeline.paths;
    expect(start?.segments.map(({ step, busMs, queueMs, workMs }) => [step, busMs, queueMs, workMs])).toEqual([
      ['config.fact.file > sync-loop sync.fact.pod', 1, 0, 2],
      ['sync.fact.pod > pod-workers runtime.cmd.RunPodSandbox', 1, 3, 2],
      ['runtime.cmd.RunPodSandbox > cri-bridge runtime.reply.RunPodSandbox', 1, 4, 15],
      ['runtime.reply.RunPodSandbox > pod-workers worker.fact.status', 1, 0, 4],
    ]);
    expect([start?.ms, start?.busMs, start?.queueMs, start?.workMs]).toEqual([34, 4, 7, 23]);
    expect([stop?.what, stop?.ms, stop?.segments.length]).toEqual(['stop', 50, 2]);
  });

  test('a reused UID has the times of its last pod', () => {
    const again = new Story();
    tellPod(again);
    tellPod(again, { at: 2000, late: 100, stops: false });
    expect(podSummary(REF.uid, again.messages)).toMatchObject({ startMs: 134, stopMs: 50 });
  });

  test('late messages of the previous pod with this UID do not start the next one', () => {
    const again = new Story();
    tellPod(again, { stops: false });
    const say = (at: number, type: string, payload: unknown, headers = {}) =>
      again.say('pod-workers-0', at, [], { type, pod: REF.uid, payload, headers });
    const ready = { ref: REF, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
    say(1000, 'config.fact.file/1', {}, { [HEADER.removed]: 'true' });
    say(1010, 'config.fact.file/1', { operation: 'ADD', pod: { metadata: REF } });
    say(1020, 'worker.fact.status/1', ready);
    say(1030, 'worker.fact.state/1', { ref: REF, state: 'finished' });
    say(1040, 'worker.fact.status/1', ready);
    expect(podSummary(REF.uid, again.messages)).toMatchObject({ startMs: 30, stopMs: 30 });
  });

  test('a path whose causes are incomplete in the recording still starts at the source', () => {
    const lost = story.messages.filter(({ message }) => message.headers[HEADER.type] !== 'sync.fact.pod/1');
    const [start] = criticalPaths(REF.uid, lost);
    expect(start?.ms).toBe(34);
    expect(start?.segments[0]).toMatchObject({ ms: 9, busMs: 0, workMs: 9 });
  });
});

test('the times of a path add up exactly for any order of messages and with duplicates', () => {
  const times = fc.array(fc.double({ min: 0, max: 5_000, noNaN: true }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(times, fc.integer({ min: 0, max: 1_000_000 }), (gaps, seed) => {
      const base = 1_900_000_000_000;
      const story = new Story();
      let at = base;
      let cause = story.say('config-sources-0', at, [], {
        type: 'config.fact.file/1',
        pod: REF.uid,
        payload: { pod: { metadata: REF } },
      });
      for (const [index, gap] of gaps.entries()) {
        const heard = heardAt(cause, at + gap / 4, at + gap / 2);
        at += gap;
        cause = story.say(`service${index % 3}-0`, at, [heard], { type: 'x.event.y/1', pod: REF.uid });
      }
      const conditions = [{ type: 'Ready', status: 'True' }];
      story.say('pod-workers-0', at + 1, [heardAt(cause, at)], {
        type: 'worker.fact.status/1',
        pod: REF.uid,
        payload: { ref: REF, status: { phase: 'Running', conditions } },
      });
      const mixed = [...story.messages, ...story.messages.slice(0, 2)];
      mixed.sort((a, b) => ((a.seq * seed) % 7) - ((b.seq * seed) % 7));
      const [path] = criticalPaths(REF.uid, mixed);
      if (path === undefined) throw new Error('no path');
      const sum = path.segments.reduce((whole, { busMs, queueMs, workMs }) => whole + busMs + queueMs + workMs, 0);
      expect(sum).toBeCloseTo(path.ms, 6);
      expect(path.busMs + path.queueMs + path.workMs).toBeCloseTo(path.ms, 6);
      for (const { busMs, queueMs, workMs } of path.segments) {
        expect(Math.min(busMs, queueMs, workMs)).toBeGreaterThanOrEqual(0);
      }
    }),
  );
});
