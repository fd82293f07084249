import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { podStatus, typeOf } from '@kubus/contracts';
import { type RunningCommand, type TestNode, checkout, isReady, poll, startCommand } from '@kubus/harness';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NodeTest, sharedNode } from '../src/node-tests.ts';
import { containerStatus } from '../src/pod-facts.ts';
import { container, pod, shell } from '../src/pods.ts';
import { type Python, findPython } from '../src/python.ts';

const python = await findPython();
/** `./kubus test` builds it. */
const goProber = join(checkout, '.kubus/tools/bin/go-prober');
const hasGo = existsSync(goProber);
// Jest does not list the tests of a file if all are skipped.
if ('missing' in python) process.stderr.write(`foreign.test.ts is skipped in Python: ${python.missing}\n`);
if (!hasGo) process.stderr.write(`foreign.test.ts is skipped in Go: ${goProber} does not exist\n`);
const skipped =
  (why: string): NodeTest =>
  (name) =>
    test.skip(`${name}: ${why}`, () => undefined);
const shared: NodeTest =
  'missing' in python && !hasGo ? skipped('nothing can run') : sharedNode('foreign', { elsewhere: ['prober'] });
const onNode: NodeTest = 'missing' in python ? skipped(python.missing) : shared;
const onNodeWithGo: NodeTest = hasGo ? shared : skipped(`${goProber} does not exist`);

/** The published contract, and the recorded messages. */
let folder = '';
beforeAll(async () => {
  if ('missing' in python) return;
  folder = await mkdtemp(join(tmpdir(), 'kubus-contract-'));
  const made = await startCommand(
    process.execPath,
    [join(checkout, 'packages/tools/contract-document/src/main.ts'), join(folder, 'contract')],
    {},
  ).outcome;
  expect([made.code, made.stderr]).toEqual([0, '']);
});
afterAll(async () => {
  if (folder !== '') await rm(folder, { recursive: true });
});

function commandOf(script: string, ...args: string[]): string[] {
  return (python as Exclude<Python, { missing: string }>).command(script, ...args);
}

/** The prober in Python instead of the bundled one, which the launcher does not start. */
async function startProber(node: TestNode): Promise<RunningCommand> {
  const prober = node.startKubus('inside', '--', ...commandOf('prober.py'));
  await prober.waitForOutput(/^serving$/m);
  return prober;
}

/** Kills Python itself, not its parent. */
async function killProber(node: TestNode): Promise<void> {
  const { pid } = await node.watch.until('the prober', () => node.watch.instance('prober-0'));
  process.kill(pid, 'SIGKILL');
}

/** A server that reports SERVING once the file exists. */
const server = shell('mkdir /www && cd /www && echo well > health && exec httpd -f -p 8080');

async function writeProbed(node: TestNode): Promise<void> {
  const exec = container({ name: 'main', readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } });
  await node.writeManifest('exec.json', pod('exec', { containers: [exec] }));
  const httpGet = { path: '/health', port: 8080 };
  const http = container({
    name: 'main',
    command: server,
    startupProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { httpGet, periodSeconds: 1, timeoutSeconds: 10 },
  });
  await node.writeManifest('http.json', pod('http', { containers: [http] }));
}

const GRPC_PORT = 9_091;

/** A pod in the node's network with a gRPC probe. */
function grpcProbed(name: string, service: string): object {
  const readinessProbe = { grpc: { port: GRPC_PORT, service }, periodSeconds: 1, timeoutSeconds: 10 };
  return pod(name, { hostNetwork: true, containers: [container({ name: 'main', readinessProbe })] });
}

/** The current container run of each of those pods. */
function runs(node: TestNode): unknown[] {
  return ['exec', 'http'].map((name) => {
    const [one] = node.watch.podsNamed(name);
    const { containerID, restartCount, ready } = (one && containerStatus(one)) ?? {};
    return [name, containerID, restartCount, ready];
  });
}

onNode(
  'a prober in Python makes pods ready, causes restarts, and can be killed without affecting pods',
  async (node) => {
    const follower = node.startKubus('inside', '--', ...commandOf('follow_pods.py', join(folder, 'contract')));
    const probers: RunningCommand[] = [];
    try {
      await follower.waitForOutput(/^following$/m);
      probers.push(await startProber(node));
      await writeProbed(node);
      const livenessProbe = { exec: { command: ['cat', '/tmp/no-such-file'] }, periodSeconds: 1, failureThreshold: 2 };
      const ill = pod('ill', { containers: [container({ name: 'main', livenessProbe })] });
      await node.writeManifest('ill.json', ill);
      for (const name of ['exec', 'http']) await node.watch.waitForPod(name, isReady, 'ready');
      const again = (one: Parameters<typeof containerStatus>[0]) => (containerStatus(one)?.restartCount ?? 0) > 0;
      await node.watch.waitForPod('ill', again, 'restarted');
      await follower.waitForOutput(
        /default\/exec-\S+ Started: [^]*default\/ill-\S+ Unhealthy: Liveness probe failed: /,
      );
      await follower.waitForOutput(/default\/http\S* Running Ready/);
      await node.removeManifest('ill.json');

      // A server in the node's network that answers probes of host-network pods.
      const health = node.startKubus('inside', '--', ...commandOf('../../e2e/src/grpc_server.py', String(GRPC_PORT)));
      probers.push(health);
      await health.waitForOutput(/^serving$/m);
      await node.writeManifest('grpc.json', grpcProbed('grpc', ''));
      await node.writeManifest('grpc-ill.json', grpcProbed('grpc-ill', 'ill'));
      await node.watch.waitForPod('grpc', isReady, 'ready');
      await follower.waitForOutput(
        /default\/grpc-ill-\S+ Unhealthy: Readiness probe failed: service unhealthy \(responded with "NOT_SERVING"\)/,
      );
      expect(node.watch.podsNamed('grpc-ill').map(isReady)).toEqual([false]);
      for (const name of ['grpc', 'grpc-ill']) await node.removeManifest(`${name}.json`);

      const before = runs(node);
      await killProber(node);
      await probers[0]?.outcome;
      probers.push(await startProber(node));
      // Its first results of a new pod follow those of all pods that it already knows.
      const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
      const late = container({ name: 'main', command: server, readinessProbe });
      await node.writeManifest('late.json', pod('late', { containers: [late] }));
      await node.watch.waitForPod('late', isReady, 'ready');
      expect(runs(node)).toEqual(before);
      for (const name of ['exec', 'http']) {
        const lines = follower.written.stdout.split('\n').filter((line) => line.startsWith(`default/${name}-`));
        const said = lines.filter((line) => / Running( Ready)?$/.test(line));
        const once = said.findIndex((line) => line.endsWith(' Ready'));
        expect(once).toBeGreaterThanOrEqual(0);
        // From then on it did not change.
        expect(said.slice(once).filter((line) => !line.endsWith(' Ready'))).toEqual([]);
      }
      expect(follower.written.stderr).not.toContain('refused');

      // A reader that starts with an empty bucket has only the results that the prober publishes again.
      await node.replaced(await node.kill('nats-server'));
      await node.restart('pod-workers-0');
      await node.writeManifest('later.json', pod('later', { containers: [late] }));
      await node.watch.waitForPod('later', isReady, 'ready');
      expect(runs(node)).toEqual(before);
    } finally {
      for (const command of [...probers, follower]) await command.end();
    }
  },
);

onNode('every message of a node is valid by the published contract, checked in Python', async (node) => {
  const tail = node.startKubus('tail', '-o', 'json');
  let prober: RunningCommand | undefined;
  try {
    prober = await startProber(node);
    // The prober's own announcement, published again: from here on everything is in the file.
    expect((await node.kubus('restart', 'cni-bridge')).code).toBe(0);
    await tail.waitForOutput(/"service\.fact\.instance\/1"/);
    await writeProbed(node);
    for (const name of ['exec', 'http']) await node.watch.waitForPod(name, isReady, 'ready');
    for (const service of ['sync-loop', 'pod-workers', 'cri-bridge', 'cni-bridge', 'config-sources']) {
      await node.restart(`${service}-0`);
    }
    for (const count of ['2', '1']) expect((await node.kubus('scale', 'pod-workers', count)).code).toBe(0);
    const volumeMounts = [{ name: 'files', mountPath: '/files', subPath: 'below' }];
    const containers = [container({ name: 'main', volumeMounts })];
    await node.writeManifest('after.json', pod('after', { containers, volumes: [{ name: 'files', emptyDir: {} }] }));
    await node.watch.waitForPod('after');
    const unready = container({ name: 'main', readinessProbe: { exec: { command: ['false'] }, periodSeconds: 1 } });
    await node.writeManifest('unready.json', pod('unready', { containers: [unready] }));
    await tail.waitForOutput(/"probe\.event\.recorded\/1"/);
    expect((await node.kubus('exec', `after-${node.name}`, '--', 'true')).code).toBe(0);
    expect((await node.kubus('top', 'pods')).code).toBe(0);
    // A container that ends while its pod is idle: the runtime reports it first.
    const ending = container({ name: 'main', command: ['sh', '-c', 'until [ -e /end ]; do sleep 0.1; done'] });
    await node.writeManifest('ending.json', pod('ending', { containers: [ending], restartPolicy: 'Never' }));
    await node.watch.waitForPod('ending', isReady, 'ready');
    expect((await node.kubus('exec', `ending-${node.name}`, '--', 'touch', '/end')).code).toBe(0);
    await tail.waitForOutput(/"runtime\.event\.hint\/1"/);
    await node.writeManifest('broken.yaml', 'apiVersion: v1\nkind: Pod\nspec: 7\n');
    await poll('the broken manifest', () =>
      Promise.resolve(/config\.fact\.manifest\//.exec(tail.written.stdout) ?? undefined),
    );
    await node.clearManifests();
    await node.watch.until('no pods', () => (node.watch.pods.length === 0 ? true : undefined));
  } finally {
    await prober?.end();
    await tail.end();
  }
  const file = join(folder, 'messages.jsonl');
  const lines = tail.written.stdout.split('\n').slice(0, -1);
  await writeFile(file, `${lines.join('\n')}\n`);
  const unseen = join(import.meta.dirname, '../src/unseen-types.json');
  const validate = (messages: string) => {
    const [program = '', ...args] = commandOf('validate.py', join(folder, 'contract'), messages, unseen);
    return startCommand(program, args, {}).outcome;
  };
  const { code, stdout, stderr } = await validate(file);
  expect([code, stderr, code === 0 ? '' : stdout]).toEqual([0, '', '']);

  // The check is effective.
  const [line = ''] = lines.filter(
    (text) => text.includes('"worker.fact.status/1"') && !text.includes('Kubus-Removed'),
  );
  const { subject, headers, payload } = JSON.parse(line) as { headers: Record<string, string> } & Record<
    string,
    unknown
  >;
  const { 'Kubus-Epoch': _epoch, ...incomplete } = headers;
  const wrong = [
    { subject, headers: incomplete, payload },
    { subject, headers: { ...headers, 'Kubus-Type': 'worker.fact.unknown/1' }, payload },
    { subject, headers: { ...headers, 'Kubus-Time': 'yesterday' }, payload },
    { subject, headers, payload: { status: { phase: 3 } } },
  ];
  const bad = join(folder, 'wrong.jsonl');
  await writeFile(bad, wrong.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const found = await validate(bad);
  expect(found.code).toBe(1);
  for (const number of [1, 2, 3, 4]) expect(found.stdout).toContain(`line ${number}: `);
});

onNode('a program replaces a bundled service until it ends', async (node) => {
  const replaced = node.startKubus('replace', 'prober', '--', ...commandOf('prober.py'));
  try {
    await replaced.waitForOutput(/^serving$/m);
    await writeProbed(node);
    for (const name of ['exec', 'http']) await node.watch.waitForPod(name, isReady, 'ready');
    const own = node.watch.instance('prober-0');
    const before = node.watch.messages.all.length;
    const { code, stderr } = await replaced.end();
    expect([code, stderr]).toEqual([0, expect.stringContaining('the bundled prober-0 is ready again')]);
    expect(node.watch.instance('prober-0')?.epoch).toBeGreaterThan(own?.epoch ?? Infinity);
    for (const name of ['exec', 'http']) await node.watch.waitForPod(name, isReady, 'ready');
    // It continues with the results of the program. Its results of a new pod follow those of all pods that it has taken over.
    const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };
    await node.writeManifest('new.json', pod('new', { containers: [container({ name: 'main', readinessProbe })] }));
    await node.watch.waitForPod('new', isReady, 'ready');
    const uids = ['exec', 'http'].flatMap((name) => node.watch.podsNamed(name).map(({ ref }) => ref.uid));
    expect(uids).toHaveLength(2);
    const unready = node.watch.messages.all.slice(before).filter(({ message, envelope }) => {
      const isStatus = envelope?.type === typeOf(podStatus) && uids.includes(envelope.pod ?? '');
      return isStatus && message.data.includes('"ready":false');
    });
    expect(unready).toEqual([]);
  } finally {
    await replaced.end();
  }
});

onNodeWithGo('a prober in Go replaces the bundled one until it ends', async (node) => {
  const replaced = node.startKubus('replace', 'prober', '--', goProber);
  try {
    await replaced.waitForOutput(/^serving$/m);
    const probed = (port: number) =>
      container({ name: 'main', command: server, readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } });
    await node.writeManifest('open.json', pod('open', { containers: [probed(8080)] }));
    await node.writeManifest('closed.json', pod('closed', { containers: [probed(8081)] }));
    await node.watch.waitForPod('open', isReady, 'ready');
    const closed = await node.watch.waitForPod('closed', (one) => containerStatus(one)?.state?.running !== undefined);
    expect(isReady(closed)).toBe(false);
    const runs = () =>
      ['open', 'closed'].map((name) => node.watch.podsNamed(name).map((one) => containerStatus(one)?.containerID));
    const before = runs();
    const { code, stderr } = await replaced.end();
    expect([code, stderr]).toEqual([0, expect.stringContaining('the bundled prober-0 is ready again')]);
    await node.watch.waitForPod('open', isReady, 'ready');
    expect(runs()).toEqual(before);
  } finally {
    await replaced.end();
  }
});
