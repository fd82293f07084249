import { beforeEach, describe, expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import { ScriptedNode, podOf } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

const MAIN = 'spec.containers{main}';

/** From now on matching commands fail in cri-bridge. */
function refuse(what: RegExp, code: string, message: string): void {
  node.bridge.before = (asked) =>
    what.test(asked) ? Promise.reject(new KubusError(code, message)) : Promise.resolve();
}

/** The pod's events other than its usual steps. */
function unusual(): string[] {
  return node.eventLines('a').filter((text) => !/^Normal (Pulled|Created|Started|Killing) /.test(text));
}

test('the steps of a container are events with the container’s field path', async () => {
  const one = { image: 'busybox', imagePullPolicy: 'IfNotPresent' };
  await node.work(podOf('a', { initContainers: [{ name: 'side', restartPolicy: 'Always', ...one }] }));
  await node.work(podOf('a'), { work: 'kill' });
  const present = 'Container image "busybox" already present on machine and can be accessed by the pod';
  const steps = (field: string) => [
    `Normal Pulled ${field}: ${present}`,
    `Normal Created ${field}: Container created`,
    `Normal Started ${field}: Container started`,
  ];
  const side = 'spec.initContainers{side}';
  expect(node.eventLines('a').slice(0, 6)).toEqual([...steps(side), ...steps(MAIN)]);
  expect(node.eventLines('a')).toContain(`Normal Killing ${MAIN}: Stopping container main`);
});

describe('a pod that does not start has an event:', () => {
  const rpc = (code: string, text: string) => `rpc error: code = ${code} desc = ${text}`;
  test.each([
    [
      'the runtime cannot create its sandbox',
      [/^RunPodSandbox/, 'Unknown', 'no network'],
      `Warning FailedCreatePodSandBox -: Failed to create pod sandbox: ${rpc('Unknown', 'no network')}`,
    ],
    [
      'the bridge cannot create its sandbox',
      [/^RunPodSandbox/, 'wrong-pod', 'another one'],
      'Warning FailedCreatePodSandBox -: Failed to create pod sandbox: another one',
    ],
    [
      'its new sandbox cannot be read',
      [/^read$/, 'Internal', 'no'],
      `Warning FailedPodSandBoxStatus -: Unable to get pod sandbox status: ${rpc('Internal', 'no')}`,
    ],
    [
      'its state cannot be read from the runtime',
      [/^fence$/, 'Unknown', 'no'],
      `Warning FailedSync -: error determining status: ${rpc('Unknown', 'no')}`,
    ],
    [
      'the runtime cannot create its container',
      [/^CreateContainer/, 'Unknown', 'no device'],
      `Warning Failed ${MAIN}: Error: no device`,
    ],
    [
      'the runtime cannot start its container, whose ID is not shown',
      [/^StartContainer/, 'Unknown', 'c2: no such program in c2'],
      `Warning Failed ${MAIN}: Error: main: no such program in main`,
    ],
  ] as const)('%s', async (_, [what, code, message], event) => {
    refuse(what, code, message);
    await node.work(podOf('a'));
    expect(unusual()[0]).toBe(event);
  });

  test('an unreachable runtime is not a failure of the pod', async () => {
    refuse(/^fence$/, 'Unavailable', 'connection refused');
    await node.work(podOf('a'));
    expect(node.eventLines('a')).toEqual([]);
  });

  test('its folder cannot be created', async () => {
    node.files.folderFailure = new Error('read-only file system');
    await node.work(podOf('a'));
    expect(node.eventLines('a')).toEqual([
      'Warning Failed -: error making pod data directories: read-only file system',
    ]);
    expect(node.bridge.done).toEqual([]);
    node.files.folderFailure = undefined;
    await node.pass(10_000);
    expect(node.eventLines('a')).toContain(`Normal Started ${MAIN}: Container started`);
  });

  test('the files of its container cannot be created', async () => {
    node.files.logFolderFailure = new Error('no space left');
    await node.work(podOf('a'));
    expect(unusual()).toEqual([`Warning Failed ${MAIN}: Error: no space left`]);
    const [main] = node.status('a')?.containerStatuses ?? [];
    expect(main?.state?.waiting).toEqual({ reason: 'CreateContainerConfigError', message: 'no space left' });
  });
});

test('a sandbox that fails while its pod is being stopped causes no event', async () => {
  const made = Promise.withResolvers<undefined>();
  node.bridge.before = (what) =>
    what.startsWith('RunPodSandbox') ? made.promise.then(() => undefined) : Promise.resolve();
  await node.work(podOf('a'));
  await node.work(podOf('a'), { work: 'kill' });
  made.reject(new KubusError('Unknown', 'it is gone'));
  await node.quiet();
  expect(node.eventLines('a')).toEqual([]);
  expect(node.state('a')?.state).not.toBe('syncing');
});

describe('a pod that cannot be stopped', () => {
  const two = podOf('a', {
    containers: ['one', 'two'].map((name) => ({ name, image: 'busybox', imagePullPolicy: 'IfNotPresent' })),
  });
  const failed = (action: string, target: string) =>
    `failed to "${action}" for "${target}" with ${action}Error: "rpc error: code = Unknown desc = it \\"hangs\\""`;

  test.each([
    ['because of one container', /^StopContainer c2/, failed('KillContainer', 'one')],
    [
      'because of each of its containers',
      /^StopContainer/,
      `[${failed('KillContainer', 'two')}, ${failed('KillContainer', 'one')}]`,
    ],
    ['because of its sandbox', /^StopPodSandbox/, failed('KillPodSandbox', 'a')],
  ])('%s has an event, and is retried', async (_, what, text) => {
    await node.work(two);
    refuse(what, 'Unknown', 'it "hangs"');
    await node.work(two, { work: 'kill' });
    expect(unusual()).toEqual([`Warning FailedKillPod -: error killing pod: ${text}`]);
    refuse(/^nothing/, '', '');
    await node.pass(10_000);
    expect(node.state('a')?.state).not.toBe('terminating');
  });

  test.each([
    [
      'has an event when another pod needs the room',
      { failure: { reason: 'Preempting', message: 'for another one' } },
      true,
    ],
    ['has no event for any other reason', {}, false],
  ])('within its grace period %s', async (_, why, hasEvent) => {
    await node.work(podOf('a', { terminationGracePeriodSeconds: 10 }));
    node.bridge.before = (what) =>
      what.startsWith('StopContainer') ? new Promise(() => undefined) : Promise.resolve();
    await node.work(podOf('a', { terminationGracePeriodSeconds: 10 }), { work: 'kill', ...why });
    const text = 'Warning ExceededGracePeriod -: Container runtime did not kill the pod within specified grace period.';
    await node.pass(14_999);
    expect(unusual()).not.toContain(text);
    await node.pass(1);
    expect(unusual().includes(text)).toBe(hasEvent);
  });
});

test('a missing cluster DNS is an event of the node and of the pod', async () => {
  node = new ScriptedNode();
  node.clusterDns = [];
  await node.start();
  await node.work(podOf('a', { dnsPolicy: 'ClusterFirst' }));
  const text =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. ' +
    'Falling back to "Default" policy.';
  expect(node.nodeEvents()).toEqual([`Warning MissingClusterDNS: ${text}`]);
  expect(unusual()).toEqual([`Warning MissingClusterDNS -: pod: "pod-a_default(a)". ${text}`]);
});
