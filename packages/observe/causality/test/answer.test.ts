import { HEADER } from '@kubus/bus';
import type { PodAnswer } from '@kubus/contracts/observatory';
import { expect, test } from '@jest/globals';
import { podStateOf, podTimeline } from '../src/index.ts';
import { REF, Story, heardAt, tellPod, workOf } from './story.ts';

const ref = { ...REF };

/** What is answered about a pod after its worker and its events have said more. */
function answerOf(tell: (say: (at: number, type: string, payload: object) => void, story: Story) => void): PodAnswer {
  const story = new Story();
  tellPod(story, { stops: false });
  let cause = story.say('cri-bridge-0', 100, [], { type: 'runtime.fact.pod/1', pod: REF.uid, payload: { ref } });
  tell((at, type, payload) => {
    cause = story.say('pod-workers-0', at, [heardAt(cause, at)], { type, pod: REF.uid, payload: { ref, ...payload } });
  }, story);
  return podTimeline(REF.uid, story.messages).answer;
}

const status = (phase: string, container: object, more: object = {}) => ({
  status: {
    ...{ phase, conditions: [{ type: 'PodReadyToStartContainers', status: 'True' }], ...more },
    containerStatuses: [{ name: 'web', ready: false, restartCount: 0, image: 'web', imageID: '', ...container }],
  },
});
const times = { firstTimestamp: '1970-01-01T00:00:00Z', lastTimestamp: '1970-01-01T00:00:00Z' };
const warning = (reason: string, message: string) => ({
  ...{ type: 'Warning', reason, message, count: 3, series: reason, ...times },
});

test.each<[string, string, object]>([
  [
    'web-u1 has failed: container web exited with code 2 (Error), and its restartPolicy is Never',
    'failed',
    status('Failed', { state: { terminated: { exitCode: 2, reason: 'Error' } } }),
  ],
  [
    'web-u1 has failed: container web was ended by signal 9 (OOMKilled), and its restartPolicy is Never',
    'failed',
    status('Failed', { state: { terminated: { exitCode: 137, signal: 9, reason: 'OOMKilled' } } }),
  ],
  [
    'web-u1 has failed: Evicted: The node was low on memory',
    'failed',
    status('Failed', {}, { reason: 'Evicted', message: 'The node was low\n on memory.' }),
  ],
  [
    'web-u1 cannot start its container web: ErrImagePull: no such host',
    'failing',
    status('Pending', { state: { waiting: { reason: 'ErrImagePull', message: 'no such host' } } }),
  ],
  [
    'web-u1 waits to start its container web again (CrashLoopBackOff): it exited with code 3 and left "no database" and was restarted 4 times before: back-off 10s',
    'failing',
    status('Running', {
      restartCount: 4,
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'no database' } },
    }),
  ],
  [
    'web-u1 runs, but is not ready: the startup probe of container web has not succeeded yet',
    'unready',
    status('Running', { state: { running: { startedAt: '1970-01-01T00:00:00Z' } } }),
  ],
  [
    'Not ready yet, 110 ms after its first message. web-u1 waits until its container web is made and started',
    'starting',
    status('Pending', { state: { waiting: { reason: 'ContainerCreating' } } }),
  ],
  [
    'Succeeded; started in 34 ms; 20 ms of it the sandbox',
    'succeeded',
    status('Succeeded', { state: { terminated: { exitCode: 0 } } }),
  ],
])('%s', (sentence, state, said) => {
  const answer = answerOf((say) => say(111, 'worker.fact.status/1', said));
  expect(answer).toMatchObject({ sentence: `${sentence}.`, state });
});

test('a failure has the message that says so, what led to it, its event, and what to look at', () => {
  const answer = answerOf((say) => {
    say(110, 'worker.event.recorded/1', warning('Failed', 'Error: no such program'));
    say(111, 'worker.event.recorded/1', warning('BackOff', 'Back-off restarting'));
    say(112, 'worker.event.recorded/1', warning('MissingClusterDNS', 'no DNS'));
    const lastState = { terminated: { exitCode: 3, reason: 'Error' } };
    say(
      113,
      'worker.fact.status/1',
      status('Running', { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState }),
    );
  });
  expect(answer.why?.chain.map(({ type }) => type)).toEqual([
    'runtime.fact.pod/1',
    ...Array.from({ length: 3 }, () => 'worker.event.recorded/1'),
    'worker.fact.status/1',
  ]);
  expect(answer.why?.said).toBe(answer.why?.chain.at(-1));
  expect(answer.why?.event).toMatchObject({ reason: 'Failed', text: 'Error: no such program', count: 3 });
  expect(answer.next).toEqual([
    { text: 'What it printed before it ended', command: './kubus logs web-n -n default -c web --previous' },
    { text: 'The message that says so', message: answer.why?.said.seq },
    { text: 'The event Failed', message: answer.why?.event?.message.seq },
  ]);
});

test('without a reason in the status, the worker’s error or the last warning is the reason', () => {
  const waits = status('Pending', { state: { waiting: { reason: 'ContainerCreating' } } });
  const since = '1970-01-01T00:00:00Z';
  const failed = { state: 'syncing', since, error: 'volume "d" is not a directory' };
  const byError = answerOf((say) => {
    say(110, 'worker.fact.status/1', waits);
    say(111, 'worker.fact.state/1', failed);
  });
  expect(byError).toMatchObject({
    state: 'failing',
    sentence:
      'web-u1 waits until its container web can be made; the last sync failed and is tried again: volume "d" is not a directory.',
  });
  const again = answerOf((say) => {
    say(110, 'worker.fact.status/1', status('Running', { started: true, state: { running: { startedAt: null } } }));
    say(111, 'worker.fact.state/1', failed);
    say(112, 'worker.fact.state/1', { state: 'syncing', since });
    say(113, 'worker.event.recorded/1', warning('Unhealthy', 'Readiness probe failed: '));
  });
  expect(again).toMatchObject({
    state: 'unready',
    sentence:
      'web-u1 runs, but is not ready: the readiness probe of container web failed, 3 times so far: Readiness probe failed.',
  });
});

test.each([
  [[], 'Ready after 34 ms; 20 ms of it the sandbox.'],
  [[1, 2, 3, 4], 'Ready after 34 ms; 20 ms of it the sandbox.'],
  [
    Array.from({ length: 100 }, (_, index) => (index < 95 ? 20 : 50)),
    'Ready after 34 ms; 20 ms of it the sandbox; slower than 95 % of the last 100 starts.',
  ],
  [[40, 40, 40, 40, 30, 34], 'Ready after 34 ms; 20 ms of it the sandbox; faster than 66 % of the last 6 starts.'],
])('among the starts %j', (starts, sentence) => {
  const story = new Story();
  tellPod(story, { stops: false });
  const { answer } = podTimeline(REF.uid, story.messages, starts);
  expect(answer).toMatchObject({ state: 'ready', sentence });
  expect(answer.next[0]).toMatchObject({ text: expect.stringContaining('RunPodSandbox'), message: 5 });
});

test('a pod that waits for a command names it, and a removed one is deleted whatever its status was', () => {
  const story = new Story();
  tellPod(story, { stops: false });
  const say = (who: string, at: number, type: string, more: object) =>
    story.say(who, at, [], { type, pod: REF.uid, ...more });
  say('config-sources-0', 500, 'config.fact.file/1', { headers: { [HEADER.removed]: 'true' } });
  say('pod-workers-0', 510, 'worker.fact.state/1', { payload: { ref, state: 'terminating' } });
  say('pod-workers-0', 511, 'runtime.cmd.StopContainer/1', {});
  expect(podTimeline(REF.uid, story.messages).answer.sentence).toBe('Stopping. Waits for StopContainer.');
  say('sync-loop-0', 512, 'sync.fact.pod/1', { payload: workOf(ref, 'kill') });
  expect(podTimeline(REF.uid, story.messages).answer.sentence).toBe(
    'web-n is being removed (removed from its source): its containers have ended, and what is left of it is being removed. Waits for StopContainer.',
  );
  say('pod-workers-0', 620, 'worker.fact.state/1', { payload: { ref, state: 'finished' } });
  expect(podTimeline(REF.uid, story.messages).answer).toMatchObject({
    state: 'deleted',
    sentence: expect.stringMatching(/^Deleted; its stop took 120 ms; /),
  });
});

test('a pod that its source does not pass on has failed, with its name and what the event says', () => {
  const story = new Story();
  const read = story.say('config-sources-0', 0, [], { type: 'config.fact.manifest/1' });
  const message = 'due to duplicate pod name "web-n", ignoring the pod of /m/b.yaml: that of /m/a.yaml runs';
  story.say('config-sources-0', 1, [read], {
    ...{ type: 'config.event.recorded/1', pod: REF.uid },
    payload: { ref, ...warning('FailedValidation', message) },
  });
  const { pod, answer } = podTimeline(REF.uid, story.messages);
  expect(pod).toMatchObject({ ...REF, state: 'failed', reason: 'FailedValidation' });
  expect(answer).toMatchObject({ state: 'failed', sentence: message });
  expect(answer.why?.chain.map(({ type }) => type)).toEqual(['config.fact.manifest/1', 'config.event.recorded/1']);
  // The other file is gone: it is a pod as any other.
  story.say('config-sources-0', 2, [read], {
    ...{ type: 'config.fact.file/1', pod: REF.uid },
    payload: { operation: 'ADD', source: 'file', pod: { metadata: ref } },
  });
  expect(podTimeline(REF.uid, story.messages).pod).toMatchObject({ ...REF, state: 'starting' });
});

test('a pod of which another manifest has a second one says so, until that is gone', () => {
  const message = '/m/a.yaml has this pod; another with its name in /m/b.yaml is not run';
  const say = (...said: ['Warning' | 'Normal', string][]) =>
    answerOf((tell) => {
      said.forEach(([type, text], index) => {
        const at = new Date(index).toISOString();
        const more = { type, firstTimestamp: at, lastTimestamp: at, series: text };
        tell(110 + index, 'config.event.recorded/1', { ...warning('DuplicatePod', text), ...more });
      });
    });
  expect(say(['Warning', message])).toMatchObject({ state: 'ready', notice: `${message}.` });
  expect(say(['Warning', message], ['Normal', 'no other'])).not.toHaveProperty('notice');
  expect(say()).not.toHaveProperty('notice');
});

test.each([
  [{}, 'starting'],
  [{ refused: {} }, 'failed'],
  [{ refused: {}, phase: 'Running', ready: true, worker: 'syncing' }, 'ready'],
  [{ phase: 'Pending', ready: false, worker: 'syncing' }, 'starting'],
  [{ phase: 'Pending', ready: false, retried: true }, 'failing'],
  [{ phase: 'Running', ready: true, worker: 'syncing' }, 'ready'],
  [{ phase: 'Running', ready: false }, 'unready'],
  [{ phase: 'Running', ready: false, trouble: 'CrashLoopBackOff' }, 'failing'],
  [{ phase: 'Running', ready: true, worker: 'terminating' }, 'stopping'],
  [{ phase: 'Running', ready: true, worker: 'finished' }, 'deleted'],
  [{ phase: 'Failed', worker: 'terminated', trouble: 'Error' }, 'failed'],
  [{ phase: 'Succeeded', worker: 'terminated' }, 'succeeded'],
  [{ phase: 'Succeeded', worker: 'finished' }, 'deleted'],
])('%j is %s', (said, state) => {
  expect(podStateOf(said)).toBe(state);
});
