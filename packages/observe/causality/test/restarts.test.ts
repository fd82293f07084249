import { expect, test } from '@jest/globals';
import type { Cause } from '@kubus/bus';
import { restartPaths } from '../src/index.ts';
import { REF, Story, heardAt } from './story.ts';

/** A pod of which the test tells what becomes of it. */
class ToldPod {
  readonly story = new Story();

  status(at: number, causes: readonly Cause[], ready: boolean, restartCount: number): Cause {
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
    const status = { phase: 'Running', conditions, containerStatuses: [{ name: 'a', restartCount }] };
    const payload = { ref: REF, status };
    return this.story.say('pod-workers-0', at, causes, { type: 'worker.fact.status/1', pod: REF.uid, payload });
  }

  runtime(at: number, causes: readonly Cause[], type = 'runtime.fact.pod/1'): Cause {
    return this.story.say('cri-bridge-0', at, causes, { type, pod: REF.uid });
  }

  get paths(): { at: number[]; steps: string[] }[] {
    return restartPaths(REF.uid, this.story.messages).map(({ from, to, segments, what, ms }) => {
      expect([what, ms]).toEqual(['restart', to.at - from.at]);
      return { at: [from.at, to.at], steps: segments.map(({ step }) => step) };
    });
  }
}

test('a restart is from the message that a container has ended to the status that is ready again', () => {
  const pod = new ToldPod();
  pod.status(10, [pod.runtime(5, [])], true, 0);
  const hint = pod.runtime(100, [], 'runtime.event.hint/1');
  const ended = pod.runtime(105, [hint]);
  const lost = pod.status(110, [heardAt(ended, 107)], false, 0);
  const begin = { type: 'runtime.cmd.StartContainer/1', pod: REF.uid };
  const started = pod.runtime(130, [pod.story.say('pod-workers-0', 115, [lost], begin)]);
  // A status that is not ready yet, such as before the readiness probe.
  pod.status(131, [started], false, 1);
  pod.status(140, [started], true, 1);
  expect(pod.paths).toEqual([
    {
      at: [100, 140],
      steps: [
        'runtime.event.hint > cri-bridge runtime.fact.pod',
        'runtime.fact.pod > pod-workers worker.fact.status',
        'worker.fact.status > pod-workers runtime.cmd.StartContainer',
        'runtime.cmd.StartContainer > cri-bridge runtime.fact.pod',
        'runtime.fact.pod > pod-workers worker.fact.status',
      ].map((step, index) => (index === 4 ? `${step} #2` : step)),
    },
  ]);
});

test('what is not a restart has no path: the start, a failed readiness probe, a restart that did not succeed', () => {
  const pod = new ToldPod();
  pod.status(1, [], false, 0);
  pod.status(2, [], false, 1);
  const ready = pod.status(3, [], true, 1);
  pod.status(4, [ready], false, 1);
  pod.status(5, [ready], true, 1);
  pod.status(6, [ready], false, 2);
  expect(pod.paths).toEqual([]);
});

test('each restart has its own path, and an earlier one leads to none', () => {
  const pod = new ToldPod();
  const first = pod.runtime(1, []);
  pod.status(2, [first], true, 0);
  pod.status(12, [pod.runtime(11, [first])], false, 1);
  pod.status(13, [], true, 1);
  pod.status(22, [pod.runtime(21, [])], false, 2);
  pod.status(23, [], true, 2);
  expect(pod.paths.map(({ at }) => at)).toEqual([
    [11, 13],
    [21, 23],
  ]);
});
