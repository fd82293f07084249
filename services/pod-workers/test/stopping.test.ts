import { beforeEach, describe, expect, test } from '@jest/globals';
import { ScriptedNode, podOf } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

/** Execs and stops since the last call. */
function done(): string[] {
  return node.bridge.done.splice(0).filter((what) => /^(ExecSync|StopContainer)/.test(what));
}

const preStop = (handler: object) => ({ lifecycle: { preStop: handler } });
const exec = { exec: { command: ['drain', 'all'] } };

async function runAndKill(pod: ReturnType<typeof podOf>): Promise<void> {
  await node.work(pod);
  done();
  await node.work(pod, { work: 'kill' });
}

describe('a preStop handler', () => {
  test('runs to its end before the container is stopped, and uses up grace period', async () => {
    const ended = Promise.withResolvers<number>();
    node.bridge.execExitCode = () => ended.promise;
    await runAndKill(podOf('a', {}, preStop(exec)));
    expect(done()).toEqual(['ExecSync c2 drain all']);
    await node.pass(10_999);
    expect(done()).toEqual([]);
    ended.resolve(0);
    await node.quiet();
    expect(done()).toEqual(['StopContainer c2 20']);
    expect(node.events('a').filter((text) => !/^(Pulled|Created|Started)/.test(text))).toEqual([
      'Killing: Stopping container main',
    ]);
  });

  test('is waited for until the end of the grace period, and no longer', async () => {
    node.bridge.execExitCode = () => new Promise(() => undefined);
    await runAndKill(podOf('a', { terminationGracePeriodSeconds: 5 }, preStop(exec)));
    await node.pass(4_999);
    expect(done()).toEqual(['ExecSync c2 drain all']);
    await node.pass(1);
    expect(done()).toEqual(['StopContainer c2 2']);
  });

  test('that fails has an event without its output, and the container is stopped', async () => {
    node.bridge.execExitCode = () => Promise.resolve(3);
    await runAndKill(podOf('a', {}, preStop(exec)));
    expect(done()).toEqual(['ExecSync c2 drain all', 'StopContainer c2 30']);
    expect(node.events('a')).toContain('FailedPreStopHook: PreStopHook failed');
    expect(node.broker.said.filter(({ subject, data }) => /event/.test(subject) && /secret/.test(data))).toEqual([]);
  });

  test('may sleep', async () => {
    await runAndKill(podOf('a', {}, preStop({ sleep: { seconds: 4 } })));
    await node.pass(3_999);
    expect(done()).toEqual([]);
    await node.pass(1);
    expect(done()).toEqual(['StopContainer c2 26']);
  });

  test('of an unknown kind fails', async () => {
    await runAndKill(podOf('a', {}, preStop({ tcpSocket: { port: 80 } })));
    expect(done()).toEqual(['StopContainer c2 30']);
    expect(node.events('a')).toContain('FailedPreStopHook: PreStopHook failed');
  });

  test('runs once, also when the pod gets a shorter grace period meanwhile', async () => {
    node.bridge.execExitCode = () => new Promise(() => undefined);
    const pod = podOf('a', {}, preStop(exec));
    await runAndKill(pod);
    await node.pass(10_000);
    await node.work(pod, { work: 'kill', graceSeconds: 3 });
    expect(done()).toEqual(['ExecSync c2 drain all']);
    await node.pass(3_000);
    expect(done()).toEqual(['StopContainer c2 2']);
    expect(node.events('a').filter((text) => text.startsWith('Killing'))).toHaveLength(1);
  });

  test('is read from the container’s annotations for a pod without a spec', async () => {
    await node.work(podOf('a', {}, preStop(exec)));
    node.kill();
    await node.records.delete('a');
    await node.noWork('a');
    await node.start();
    done();
    await node.work(podOf('a'), { pod: undefined, work: 'kill', source: 'runtime' });
    expect(done()).toEqual(['ExecSync c2 drain all', 'StopContainer c2 2']);
  });
});

describe('an httpGet handler', () => {
  const get = (action: object) => preStop({ httpGet: action });

  test.each<[string, object, object, object]>([
    ['the pod’s address', { port: 8080 }, {}, { scheme: 'http', host: '10.0.0.2', port: 8080, path: '/' }],
    [
      'a named port and a host',
      { port: 'web', host: 'example.org', path: 'bye?now=1', scheme: 'HTTPS' },
      {},
      { scheme: 'https', host: 'example.org', port: 81, path: 'bye?now=1' },
    ],
    ['the node’s address', { port: 1 }, { hostNetwork: true }, { scheme: 'http', host: '192.0.2.1', port: 1 }],
  ])('requests %s', async (_what, action, spec, request) => {
    await runAndKill(podOf('a', spec, { ...get(action), ports: [{ name: 'web', containerPort: 81 }] }));
    expect(node.requests).toMatchObject([request]);
    expect(done()).toEqual(['StopContainer c2 30']);
    expect(node.events('a').filter((text) => text.startsWith('Failed'))).toEqual([]);
  });

  test('that requested https and is answered over http has an event', async () => {
    node.answer = () => Promise.resolve({ fellBack: true });
    await runAndKill(podOf('a', {}, get({ port: 8443, scheme: 'HTTPS' })));
    expect(node.events('a')).toContain(
      'LifecycleHTTPFallback: request to HTTPS lifecycle hook 10.0.0.2:8443 got HTTP response, retry with HTTP succeeded',
    );
  });

  test.each([
    ['is not answered', () => Promise.reject(new Error('connection refused')), 80],
    ['names an unknown port', () => Promise.resolve({ fellBack: false }), 'nowhere'],
  ])('that %s fails', async (_what, answer, port) => {
    node.answer = answer;
    await runAndKill(podOf('a', {}, get({ port })));
    expect(node.events('a')).toContain('FailedPreStopHook: PreStopHook failed');
    expect(done()).toEqual(['StopContainer c2 30']);
  });

  test('is aborted at the end of the grace period, which is not its failure', async () => {
    const aborted: boolean[] = [];
    node.answer = (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(true);
          reject(new Error('aborted'));
        });
      });
    await runAndKill(podOf('a', { terminationGracePeriodSeconds: 3 }, get({ port: 1 })));
    await node.pass(3_000);
    expect([aborted, done()]).toEqual([[true], ['StopContainer c2 2']]);
    expect(node.events('a')).not.toContain('FailedPreStopHook: PreStopHook failed');
  });
});

describe('sidecars of a pod that is stopped', () => {
  const of = (name: string) => ({ name, image: 'busybox', restartPolicy: 'Always' });
  const pod = podOf('a', { initContainers: [of('one'), of('two')] });

  test('stop after the containers that they serve, the last one first, with the rest of the grace period', async () => {
    await node.work(pod);
    done();
    const gates = new Map<string, () => void>();
    node.bridge.before = (what) =>
      what.startsWith('StopContainer') ? new Promise((resolve) => gates.set(what, resolve)) : Promise.resolve();
    await node.work(pod, { work: 'kill' });
    // c2 is `one`, c3 `two`, c4 `main`.
    const order: string[] = [];
    for (let round = 0; round < 3; round++) {
      await node.pass(2_000);
      expect(gates.size).toBe(1);
      for (const [what, open] of gates) {
        order.push(what);
        gates.delete(what);
        open();
      }
      await node.quiet();
    }
    expect(order).toEqual(['StopContainer c4 30', 'StopContainer c3 28', 'StopContainer c2 26']);
  });

  test('stop at the end of the grace period, whatever still runs', async () => {
    const hanging = podOf('a', { ...pod.spec, terminationGracePeriodSeconds: 4 });
    await node.work(hanging);
    done();
    const stops: string[] = [];
    node.bridge.before = (what) => {
      if (!what.startsWith('StopContainer')) return Promise.resolve();
      stops.push(what);
      return new Promise(() => undefined);
    };
    await node.work(hanging, { work: 'kill' });
    expect(stops).toEqual(['StopContainer c4 4']);
    await node.pass(4_000);
    expect(stops.sort()).toEqual(['StopContainer c2 2', 'StopContainer c3 2', 'StopContainer c4 4']);
  });
});

describe('a container that was starting when its pod ended', () => {
  test('is stopped when it appears, and does not change why the pod has ended', async () => {
    await node.work(podOf('a'));
    const failure = { reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' };
    await node.work(podOf('a'), { work: 'evict', failure, graceSeconds: 1 });
    expect(node.state('a')).toMatchObject({ state: 'terminated', cleaned: true });
    done();
    node.bridge.startLate('a', 'main');
    await node.quiet();
    expect(done()).toEqual(['StopContainer c2 2']);
    expect(node.bridge.pod('a')).toMatchObject({ sandboxes: [{ ready: false }], containers: [{ state: 'exited' }] });
    expect(node.status('a')).toMatchObject({ phase: 'Failed', reason: 'Terminated' });
    expect(node.state('a')).toMatchObject({ state: 'terminated', cleaned: true });
  });
});

describe('a postStart handler', () => {
  const postStart = podOf('a', {}, { lifecycle: { postStart: { exec: { command: ['warm', 'up'] } } } });

  test('ends before its container counts as running', async () => {
    const ended = Promise.withResolvers<number>();
    node.bridge.execExitCode = () => ended.promise;
    await node.work(postStart);
    expect(done()).toEqual(['ExecSync c2 warm up']);
    expect(node.status('a')?.phase).toBe('Pending');
    ended.resolve(0);
    await node.quiet();
    expect(node.status('a')).toMatchObject({ phase: 'Running', containerStatuses: [{ ready: true }] });
  });

  test('that fails stops its container, which has the reason in its status and restarts', async () => {
    node.bridge.execExitCode = () => Promise.resolve(7);
    await node.work(postStart);
    expect(done()).toEqual(['ExecSync c2 warm up', 'StopContainer c2 30']);
    const text =
      'Exec lifecycle hook ([warm up]) for Container "main" in Pod "pod-a_default(a)" failed - error: ' +
      "command 'warm up' exited with 7";
    expect(node.status('a')?.containerStatuses?.[0]).toMatchObject({
      state: { waiting: { reason: 'PostStartHookError', message: text } },
      lastState: { terminated: { exitCode: 143 } },
    });
    expect(node.events('a').slice(-2)).toEqual([
      'FailedPostStartHook: PostStartHook failed',
      'Killing: FailedPostStartHook',
    ]);
    node.bridge.execExitCode = () => Promise.resolve(0);
    await node.pass(10_000);
    expect(node.status('a')).toMatchObject({ phase: 'Running', containerStatuses: [{ restartCount: 1 }] });
  });

  test('does not delay the stop of the pod', async () => {
    node.bridge.execExitCode = () => new Promise(() => undefined);
    await runAndKill(postStart);
    expect(done()).toEqual(['StopContainer c2 30']);
    expect(node.state('a')?.state).toBe('finished');
  });
});
