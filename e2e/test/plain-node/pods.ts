import { expect } from '@jest/globals';
import type { PodSpec } from '@kubus/contracts';
import { type WatchedPod, isReady } from '@kubus/harness';
import { runCommand } from '@kubus/launcher';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { onNode } from './node.ts';
import {
  containerStatus,
  terminated,
  eventMessages,
  eventReasons,
  waitingReason,
  waitingReasons,
} from '../../src/pod-facts.ts';
import { container, pod, podRunning, shell, staying } from '../../src/pods.ts';
import { runsOf } from '../../src/start-account.ts';

/** The command that prints the response of a server, as soon as it listens. */
function fetching(url: string): string[] {
  return shell(`until wget -qO- ${url}; do sleep 0.1; done`);
}

onNode('a pod follows its manifest: added, changed, removed', async (node) => {
  await node.writeManifest('a.json', podRunning('changing', 'trap "exit 0" TERM; while :; do sleep 1 & wait $!; done'));
  const first = await node.watch.waitForPod('changing');
  await node.writeManifest('a.json', pod('changing'));
  const second = await node.watch.waitForPod(
    'changing',
    (one) => isReady(one) && one.ref.uid !== first.ref.uid,
    'ready with another UID',
  );
  await node.watch.until('nothing of the first one', () =>
    node.watch.pods.some(({ ref }) => ref.uid === first.ref.uid) ? undefined : true,
  );
  const runs = runsOf(await node.events.runs()).filter((run) => run.container === 'main');
  const [before, after] = [first, second].map(({ ref }) => runs.filter(({ podUid }) => podUid === ref.uid));
  expect([before?.length, after?.length]).toEqual([1, 1]);
  expect(before?.[0]?.exitedAt).toBeLessThan(after?.[0]?.startedAt ?? 0);
  await node.removeManifest('a.json');
  await node.watch.waitForNoPod('changing');
});

onNode('a manifest that is removed and added again restarts its pod', async (node) => {
  await node.writeManifest('a.json', pod('again'));
  const first = await node.watch.waitForPod('again');
  const [here, away] = [join(node.manifests, 'a.json'), join(node.manifests, '../away.json')];
  renameSync(here, away);
  renameSync(away, here);
  const { containerID } = containerStatus(first) ?? {};
  const isNew = (one: WatchedPod) => isReady(one) && containerStatus(one)?.containerID !== containerID;
  const second = await node.watch.waitForPod('again', isNew, 'ready with another container');
  expect(second.ref).toEqual(first.ref);
});

onNode('a pod cannot use up the machine’s process IDs', async (node) => {
  const bomb = 'i=0; while [ $i -lt 2000 ]; do sleep 60 & i=$((i+1)); done; sleep 60';
  const main = container({ name: 'main', command: shell(bomb), terminationMessagePolicy: 'FallbackToLogsOnError' });
  await node.writeManifest('b.json', pod('bomb', { restartPolicy: 'Never', containers: [main] }));
  const one = await node.watch.waitForPod('bomb', ({ status }) => status?.phase === 'Failed', 'failed');
  expect(terminated(one)?.message).toContain("can't fork: Resource temporarily unavailable");
});

onNode('a container that exits with 0 because it is restarted does not complete its pod', async (node) => {
  const volumeMounts = [{ name: 'sick', mountPath: '/sick' }];
  // Fails once.
  const livenessProbe = {
    exec: { command: shell('! rm /sick/file') },
    periodSeconds: 1,
    timeoutSeconds: 30,
    failureThreshold: 1,
  };
  const spec: Partial<PodSpec> = {
    restartPolicy: 'OnFailure',
    volumes: [{ name: 'sick', emptyDir: {} }],
    initContainers: [container({ name: 'first', command: shell('touch /sick/file'), volumeMounts })],
    containers: [container({ name: 'main', livenessProbe, volumeMounts })],
  };
  await node.writeManifest('b.json', pod('ended-well', spec));
  const restarted = (one: WatchedPod) => containerStatus(one)?.restartCount === 1 && one.status?.phase !== 'Pending';
  const one = await node.watch.waitForPod('ended-well', restarted);
  expect([one.status?.phase, containerStatus(one)?.lastState?.terminated?.exitCode]).toEqual(['Running', 0]);
});

onNode('the restart policy decides what happens to a container that has ended', async (node) => {
  const cases = [
    { name: 'always-0', policy: 'Always', code: 0, phase: 'Running', restarted: true },
    { name: 'always-3', policy: 'Always', code: 3, phase: 'Running', restarted: true },
    { name: 'on-failure-0', policy: 'OnFailure', code: 0, phase: 'Succeeded', restarted: false },
    { name: 'on-failure-3', policy: 'OnFailure', code: 3, phase: 'Running', restarted: true },
    { name: 'never-0', policy: 'Never', code: 0, phase: 'Succeeded', restarted: false },
    { name: 'never-3', policy: 'Never', code: 3, phase: 'Failed', restarted: false },
  ];
  for (const { name, policy, code } of cases) {
    await node.writeManifest(`${name}.json`, podRunning(name, `exit ${code}`, { restartPolicy: policy }));
  }
  for (const { name, code, phase, restarted } of cases) {
    const ended = await node.watch.waitForPod(
      name,
      (one) => one.status?.phase === phase && (!restarted || (containerStatus(one)?.restartCount ?? 0) >= 1),
      `${phase}${restarted ? ', restarted' : ''}`,
    );
    expect([name, terminated(ended)?.exitCode]).toEqual([name, code]);
    expect([name, terminated(ended)?.reason]).toEqual([name, code === 0 ? 'Completed' : 'Error']);
  }
  const runs = runsOf(await node.events.runs()).filter((run) => run.container === 'main');
  for (const { name } of cases.filter(({ restarted }) => !restarted)) {
    expect([name, runs.filter((run) => run.pod === `${name}-${node.name}`).length]).toEqual([name, 1]);
  }
});

onNode('a container that keeps crashing is backed off and keeps the log of its last run', async (node) => {
  const line = 'cat /proc/sys/kernel/random/uuid; mkfifo /end; read -r _ < /end; exit 4';
  await node.writeManifest('crash.json', podRunning('crashing', line));
  const runs = (count: number) =>
    node.watch.waitForPod('crashing', (one) => isReady(one) && containerStatus(one)?.restartCount === count - 1);
  const end = () => node.kubus('exec', 'crashing', '--', 'sh', '-c', 'echo > /end');
  const log = async (...options: string[]) => {
    const { code, stdout } = await node.kubus('logs', 'crashing', ...options);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}\n$/)]);
    return stdout;
  };

  await runs(1);
  const first = await log();
  expect((await node.kubus('logs', 'crashing', '--previous')).code).toBe(1);
  await end();
  await runs(2);
  const second = await log();
  expect(second).not.toBe(first);
  expect(await log('--previous')).toBe(first);
  await end();
  const waiting = await node.watch.waitForPod('crashing', (one) => waitingReason(one) === 'CrashLoopBackOff');
  expect(containerStatus(waiting)?.state?.waiting?.message).toBe(
    `back-off 10s restarting failed container=main pod=crashing-${node.name}_default(${waiting.ref.uid})`,
  );
  expect(eventReasons(node, waiting)).toContain('Warning BackOff');
  expect(await log('--previous')).toBe(second);
  await runs(3);
  const account = runsOf(await node.events.runs());
  const [, before, after, ...more] = account.filter(
    (run) => run.podUid === waiting.ref.uid && run.container === 'main',
  );
  expect(more).toEqual([]);
  expect((after?.startedAt ?? 0) - (before?.exitedAt ?? Infinity)).toBeGreaterThan(9_500);
});

onNode('containers of a pod share its network, and one that ends is restarted alone', async (node) => {
  const server = 'mkdir /www && echo served > /www/index.html && exec httpd -f -p 8080 -h /www';
  const ports = [{ containerPort: 8080, hostPort: 18080 }];
  const containers = [container({ name: 'server', command: shell(server), ports }), container({ name: 'other' })];
  await node.writeManifest('pair.json', pod('paired', { containers }));
  const before = await node.watch.waitForPod('paired');
  const answer = await node.kubus('exec', 'paired', '-c', 'other', '--', ...fetching('http://127.0.0.1:8080'));
  expect(answer).toMatchObject({ code: 0, stdout: 'served\n' });
  const request = 'printf "GET / HTTP/1.0\\r\\n\\r\\n" | busybox nc -w 5 127.0.0.1 18080';
  expect(await runCommand(node.inside(['sh', '-c', request]))).toMatch(/\nserved\n$/);
  const described = await node.kubus('describe', 'pod', 'paired');
  expect(described.stdout).toMatch(
    new RegExp(`Network: +kubus \\(bridge, portmap\\)\\n +Addresses: +${before.status?.podIP ?? ''}/16 via 10.88.0.1`),
  );
  const ended = before.runtime?.containers.find(({ name }) => name === 'other');
  await node.ctr('tasks', 'kill', '--signal', 'SIGKILL', ended?.id ?? '');
  const after = await node.watch.waitForPod(
    'paired',
    (one) => isReady(one) && containerStatus(one, 'other')?.restartCount === 1,
    'ready after one restart',
  );
  expect(containerStatus(after, 'server')).toEqual(containerStatus(before, 'server'));
  expect(after.runtime?.sandboxes.map(({ id }) => id)).toEqual(before.runtime?.sandboxes.map(({ id }) => id));
  const events = await node.kubus('events', '--for', 'pod/paired', '--types', 'Normal');
  expect(events.stdout).toMatch(/\(x2 over \w+\) +Normal +Started +Pod\/paired-\S+ +Container started/);
  const named = await node.kubus('logs', 'paired');
  expect(named.stderr).toContain('Defaulted container "server" out of: server, other');
});

onNode('a pod on the host network sees the node’s own interfaces', async (node) => {
  await node.writeManifest('host.json', pod('on-host', { hostNetwork: true }));
  const { status, runtime } = await node.watch.waitForPod('on-host');
  const inside = await node.kubus('exec', 'on-host', '--', 'readlink', '/proc/self/ns/net');
  const own = await node.kubus('exec', 'on-host', '--', 'readlink', '/proc/1/ns/net');
  expect([inside.code, inside.stdout]).toEqual([0, own.stdout]);
  const links = await node.kubus('exec', 'on-host', '--', 'ls', '/sys/class/net');
  expect(links.stdout).not.toContain('eth0');
  expect(runtime?.sandboxes[0]?.ips).toEqual([]);
  // The node is in no cluster: such a pod has the addresses of its Node object, and without one, none.
  expect(status?.podIP).toBeUndefined();
  expect(status?.hostIP).toBeUndefined();
});

onNode('a missing image is reported according to the pull policy', async (node) => {
  // No process listens there, so that a pull fails at once on every machine.
  const missing = '127.0.0.1:1/missing:1';
  const named = (name: string, image: string, imagePullPolicy: string) =>
    pod(name, { containers: [container({ name: 'main', image, imagePullPolicy, command: staying })] });
  await node.writeManifest('never.json', named('image-never', missing, 'Never'));
  await node.writeManifest('if-not-present.json', named('image-if-not-present', missing, 'IfNotPresent'));
  await node.writeManifest('invalid.json', named('image-invalid', 'BusyBox:1', 'IfNotPresent'));

  const never = await node.watch.waitForPod('image-never', (one) => waitingReason(one) === 'ErrImageNeverPull');
  const neverText = `Container image "${missing}" is not present with pull policy of Never`;
  expect(containerStatus(never)?.state?.waiting?.message).toBe(neverText);
  expect(eventReasons(node, never)).toEqual(['Warning ErrImageNeverPull', 'Warning Failed']);
  expect(never.status?.phase).toBe('Pending');

  const absent = await node.watch.waitForPod(
    'image-if-not-present',
    (one) => waitingReason(one) === 'ImagePullBackOff',
  );
  expect(waitingReasons(node, absent)).toEqual(['ContainerCreating', 'ErrImagePull', 'ImagePullBackOff']);
  expect(eventReasons(node, absent)).toEqual(['Normal Pulling', 'Warning Failed', 'Normal BackOff']);
  expect(eventMessages(node, absent, 'Pulling')).toEqual([`Pulling image "${missing}"`]);
  expect(eventMessages(node, absent, 'Failed')).toEqual([
    expect.stringMatching(/^Failed to pull image "127\.0\.0\.1:1\/missing:1": .*connection refused/),
    'Error: ErrImagePull',
    'Error: ImagePullBackOff',
  ]);
  expect(containerStatus(absent)?.state?.waiting?.message).toContain(`Back-off pulling image "${missing}"`);

  const invalid = await node.watch.waitForPod('image-invalid', (one) => waitingReason(one) === 'InvalidImageName');
  expect(eventReasons(node, invalid)).toEqual(['Warning InspectFailed', 'Warning Failed']);
});

onNode('logs follow what a container writes, until it ends', async (node) => {
  const line = 'mkfifo /input; while read -r text < /input; do [ "$text" = end ] && exit 0; echo "$text"; done';
  await node.writeManifest('follow.json', podRunning('followed', line, { restartPolicy: 'Never' }));
  await node.watch.waitForPod('followed');
  const send = (text: string) => node.kubus('exec', 'followed', '--', 'sh', '-c', `echo ${text} > /input`);
  const following = node.startKubus('logs', '-f', 'followed');
  try {
    expect((await send('first')).code).toBe(0);
    await following.waitForOutput(/first\n/);
    await send('second');
    await following.waitForOutput(/second\n/);
    await send('end');
    expect(await following.outcome).toMatchObject({ code: 0, stdout: 'first\nsecond\n' });
  } finally {
    await following.end();
  }
});

onNode('a broken manifest is named with its field, and does not touch its neighbours', async (node) => {
  await node.writeManifest('good.json', pod('good'));
  await node.writeManifest('no-image.json', pod('broken', { containers: [{ name: 'main' }] }));
  await node.writeManifest('syntax.yaml', 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: [unclosed\n');
  const good = await node.watch.waitForPod('good');
  const reports = () =>
    new Map(node.watch.manifests.map(({ path, pods, errors }) => [path.split('/').at(-1), { pods, errors }]));
  await node.watch.until('reports of all three files', () => (reports().size === 3 ? true : undefined));
  expect(reports().get('good.json')).toMatchObject({ errors: [], pods: [expect.anything()] });
  expect(reports().get('no-image.json')?.errors[0]).toMatchObject({ field: 'spec.containers[0].image' });
  expect(reports().get('syntax.yaml')?.errors[0]?.line).toBeGreaterThanOrEqual(4);
  const listed = await node.kubus('get', 'manifests');
  expect(listed.code).toBe(0);
  expect(listed.stdout).toMatch(/no-image\.json +0 +Broken +spec\.containers\[0\]\.image: /);
  expect(listed.stdout).toMatch(/good\.json +1 +OK/);

  await node.writeManifest('no-image.json', pod('broken'));
  await node.watch.waitForPod('broken');
  expect((await node.watch.waitForPod('good')).status).toEqual(good.status);
});

onNode('pods have addresses of their own and reach each other; a file may hold several', async (node) => {
  const server = (name: string) =>
    podRunning(name, `mkdir /www && echo ${name} > /www/index.html && exec httpd -f -p 8080 -h /www`);
  const documents = ['south', 'north'].map((name) => JSON.stringify(server(name)));
  await node.writeManifest('two.yaml', documents.join('\n---\n'));
  const [south, north] = [await node.watch.waitForPod('south'), await node.watch.waitForPod('north')];
  const addresses = [south, north].map(({ status }) => status?.podIP ?? '');
  expect(new Set(addresses).size).toBe(2);
  for (const address of addresses) expect(address).toMatch(/^10\.88\./);
  for (const [from, to, address] of [
    ['south', 'north', addresses[1]],
    ['north', 'south', addresses[0]],
  ] as const) {
    const answer = await node.kubus('exec', from, '--', ...fetching(`http://${address ?? ''}:8080`));
    expect(answer).toMatchObject({ code: 0, stdout: `${to}\n` });
  }
});
