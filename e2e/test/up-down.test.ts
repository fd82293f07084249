import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { type MachineSnapshot, diffSnapshots } from '@kubus/launcher';
import { nodeServices } from '@kubus/service-kit';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { OtlpCollector } from '../src/otlp-collector.ts';
import { container, pod, shell } from '../src/pods.ts';
import { readmeTranscript, shapeOf } from '../src/readme-transcript.ts';
import { UserNode } from '../src/user-node.ts';

// The tests of this file follow one node through what a user does with it, in this order.

let node: UserNode;
let before: MachineSnapshot;
let upOutput = '';

beforeAll(async () => {
  node = await UserNode.prepare();
  before = await node.snapshot();
});
afterAll(() => node.remove());

/** Takes the node down and expects the machine to be unchanged. */
async function downAndClean(): Promise<void> {
  const { code, stdout, stderr } = await node.kubus('down');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`node ${node.name} is removed`);
  expect(diffSnapshots(before, await node.snapshot())).toEqual([]);
}

test('before up, commands say how to start the node', async () => {
  const { code, stderr } = await node.kubus('get', 'pods');
  expect([code, stderr]).toEqual([
    1,
    `kubus: node ${node.name} does not exist on this machine: start it with ./kubus --node ${node.name} up ("./kubus ls" lists the nodes)\n`,
  ]);
});

test('up shows its steps, the pods until they are Running, and the next steps', async () => {
  const { code, stdout } = await node.up().outcome;
  upOutput = stdout;
  expect(code).toBe(0);
  for (const step of ['starting NATS', 'starting containerd', 'importing images', 'starting the services']) {
    expect(stdout).toMatch(new RegExp(`^kubus: ${step} \\.\\.\\. \\d+\\.\\d s$`, 'm'));
  }
  expect(stdout).toMatch(/^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE/m);
  for (const [name, containers] of [
    ['hello', 1],
    ['web', 2],
  ] as const) {
    expect(stdout).toMatch(new RegExp(`^default +${name}-${node.name} +${containers}/${containers} +Running`, 'm'));
  }
  expect(stdout).toContain('Next steps:');
  const containers = [`hello-${node.name}/hello`, `web-${node.name}/client`, `web-${node.name}/server`];
  expect([...(await node.stayingContainers()).keys()].sort()).toEqual(containers);
});

test('up again changes nothing', async () => {
  const containers = await node.stayingContainers();
  const { code, stdout } = await node.up().outcome;
  expect(code).toBe(0);
  expect(stdout).toContain(`node ${node.name} is already running`);
  expect(await node.stayingContainers()).toEqual(containers);
});

// The help of every command is tested in its own package, without a process for each.
test('the program has help; wrong usage ends with 2', async () => {
  const { code, stdout } = await node.kubus('--help');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^Node:\n(?: {2}.*\n)* {2}up /m)]);
  const help = await node.kubus('get', 'pods', '--help');
  expect([help.code, help.stdout.split('\n')[0]]).toEqual([0, expect.stringMatching(/^Usage: /)]);
  expect((await node.kubus('nonsense')).code).toBe(2);
  expect((await node.kubus('get', 'pods', '--nonsense')).code).toBe(2);
});

test('status shows every service, the runtime and the network', async () => {
  const text = await node.kubus('status');
  expect(text.code).toBe(0);
  for (const service of nodeServices) {
    expect(text.stdout).toMatch(new RegExp(`^${service}-0 +Ready +\\S+ +\\d+ +\\d+\\.\\d ms`, 'm'));
  }
  expect(text.stdout).toMatch(/^runtime {2}containerd \S+: ready$/m);
  expect(text.stdout).toMatch(/^network {2}\S+ \(10-pods\.conflist\): ready$/m);
  const { stdout } = await node.kubus('status', '-o', 'json');
  const status = JSON.parse(stdout) as { healthy: boolean; services: { latencyMs: number; state: string }[] };
  expect(status.healthy).toBe(true);
  expect(status.services).toHaveLength(nodeServices.length + 1);
  for (const service of status.services) {
    expect(service).toMatchObject({ state: 'Ready', latencyMs: expect.any(Number), pid: expect.any(Number) });
  }
});

test('ls lists the node with its pods and its memory', async () => {
  expect((await node.kubus('ls')).stdout).toMatch(
    new RegExp(`^NAME +STATE +PODS +MEMORY +AGE\\n${node.name} +Running +3 +\\d+Mi +\\d+\\w+\\n$`),
  );
  const { items } = JSON.parse((await node.kubus('ls', '-o', 'json')).stdout) as { items: { memoryBytes: number }[] };
  const [listed] = items;
  expect(listed).toMatchObject({ name: node.name, state: 'Running', pods: 3, folder: node.dir.root });
  // Its ten services alone.
  expect(listed?.memoryBytes).toBeGreaterThan(10 * 10 * 1024 * 1024);
});

test('get lists pods as a table and as JSON; names resolve with and without the node', async () => {
  const list = JSON.parse((await node.kubus('get', 'pods', '-o', 'json')).stdout) as { items: { metadata: object }[] };
  expect(list.items.map(({ metadata }) => metadata)).toEqual(
    ['hello', 'once', 'web'].map((name) => expect.objectContaining({ name: `${name}-${node.name}` })),
  );
  for (const name of ['hello', `hello-${node.name}`, 'pod/hello']) {
    const one = await node.kubus('get', 'pods', name, '-o', 'yaml');
    expect(parse(one.stdout)).toMatchObject({ metadata: { name: `hello-${node.name}` }, status: { phase: 'Running' } });
  }
  const wide = await node.kubus('get', 'pods', '-o', 'wide');
  expect(wide.stdout).toMatch(
    new RegExp(`^hello-${node.name} +1/1 +Running .* 10\\.88\\.\\d+\\.\\d+ +${node.name} +<none> +<none>$`, 'm'),
  );
  const named = await node.kubus('--node', node.name, 'get', 'pods', 'hello');
  expect([named.code, named.stdout.split('\n').length]).toEqual([0, 3]);
  const missing = await node.kubus('get', 'pods', 'nobody');
  expect(missing).toMatchObject({ code: 1, stderr: 'kubus: pods "nobody" not found in namespace "default"\n' });
  const manifests = JSON.parse((await node.kubus('get', 'manifests', '-o', 'json')).stdout) as {
    items: { errors: object[] }[];
  };
  expect(manifests.items.map(({ errors }) => errors)).toEqual([[], [], []]);
});

test('the quick start of the README prints what the README shows', async () => {
  await poll('the end of once', async () =>
    (await node.kubus('get', 'pods')).stdout.includes('Completed') ? true : undefined,
  );
  for (const { words, lines } of await readmeTranscript()) {
    const printed = words[0] === 'up' ? upOutput : (await node.kubus(...words)).stdout;
    const shapes = printed.split('\n').map((line) => shapeOf(line, node.name));
    expect([words, shapes]).toEqual([words, expect.arrayContaining(lines.map((line) => shapeOf(line, 'node0')))]);
  }
});

test('get --watch follows changes', async () => {
  const watching = node.start('get', 'pods', '--watch');
  try {
    await watching.waitForOutput(/^web-/m);
    const { stdout } = await node.kubus('exec', 'web', '-c', 'client', '--', 'kill', '1');
    expect(stdout).toBe('');
    await watching.waitForOutput(
      new RegExp(`^web-${node.name} +1/2 .*\\n(.*\\n)*web-${node.name} +2/2 +Running +1`, 'm'),
    );
  } finally {
    await watching.end();
  }
});

test('describe, logs and exec look into a pod', async () => {
  const described = await node.kubus('describe', 'pod', 'hello');
  expect(described.code).toBe(0);
  expect(described.stdout).toMatch(new RegExp(`^Name: +hello-${node.name}$`, 'm'));
  for (const reason of ['Pulled', 'Created', 'Started']) {
    expect(described.stdout).toMatch(new RegExp(`^ +Normal +${reason} `, 'm'));
  }
  const logs = await node.kubus('logs', 'hello', '--tail', '1');
  expect([logs.code, logs.stdout.split('\n').length]).toEqual([0, 2]);
  expect((await node.kubus('logs', 'once')).stdout).toBe('1\n2\n3\n');
  const both = await node.kubus('exec', 'hello', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7');
  expect(both).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\n' });
  expect((await node.kubus('exec', 'once', '--', 'true')).code).toBe(1);
});

test('trace shows causes, graph shows which service publishes what, tail shows messages', async () => {
  const trace = await node.kubus('trace', 'pod', 'hello');
  expect(trace.code).toBe(0);
  const line = (text: string) => trace.stdout.split('\n').find((one) => one.includes(text)) ?? '';
  // A line's numbers have columns of their own; its words are indented.
  const depth = (text: string) => line(text).search(/[a-z]/);
  const path = ['config.fact.file', 'sync.fact.pod', 'runtime.cmd.RunPodSandbox', 'runtime.cmd.StartContainer'];
  for (const [index, text] of path.entries()) {
    expect([text, line(text)]).toEqual([text, expect.stringMatching(/\S/)]);
    if (index > 0) expect(depth(text)).toBeGreaterThan(depth(path[index - 1] ?? ''));
  }
  const traced = await node.kubus('trace', 'pod', 'hello', '-o', 'json');
  const { messages } = JSON.parse(traced.stdout) as { messages: { subject: string }[] };
  expect(messages.length).toBeGreaterThan(path.length);

  const graph = JSON.parse((await node.kubus('graph', '-o', 'json')).stdout) as {
    services: Record<string, { writes: string[] }>;
  };
  for (const service of nodeServices) expect(graph.services[service]?.writes.length).toBeGreaterThan(0);
  expect((await node.kubus('graph', 'sync-loop')).stdout).toMatch(/^ {2}writes {2}kubus\.\S+\.sync\.fact\.pod\./m);
  expect((await node.kubus('graph', 'nobody')).code).toBe(2);

  const tail = node.start('tail', '-o', 'json', 'runtime');
  try {
    const heard = tail.waitForOutput(/^\{.*runtime\.cmd\.Exec\..*\}$/m);
    // Repeated until it is received, since tail does not report when it has subscribed.
    const ended = heard.then(() => true);
    while (!(await Promise.race([ended, node.kubus('exec', 'hello', '--', 'true').then(() => false)])));
    const [text] = await heard;
    expect(JSON.parse(text)).toMatchObject({
      subject: expect.stringContaining(`kubus.${node.name}.runtime.cmd.Exec.`),
    });
  } finally {
    await tail.end();
  }
});

test('trace sends its spans to a collector of the machine', async () => {
  const collector = await OtlpCollector.start();
  const { endpoint } = collector;
  try {
    const { code, stdout, stderr } = await node.kubus('trace', 'pod', 'hello', '--otlp-endpoint', endpoint);
    expect([code, stdout, stderr]).toEqual([0, '', '']);
    expect(collector.names).toEqual(expect.arrayContaining(['send config.fact.file', 'process worker.fact.status']));
    const both = await node.kubus('trace', 'pod', 'hello', `--otlp-endpoint=${endpoint}`, '--critical');
    expect([both.code, both.stdout]).toEqual([0, expect.stringMatching(/^SERVICE .*\n.*total start/s)]);
  } finally {
    await collector.stop();
  }
  const gone = await node.kubus('trace', 'pod', 'hello', '--otlp-endpoint', endpoint);
  expect([gone.code, gone.stderr]).toEqual([
    1,
    expect.stringMatching(/^kubus: cannot reach the collector at .*ECONNREFUSED/),
  ]);
  const none = await node.kubus('trace', 'pod', 'nobody', '--otlp-endpoint', endpoint);
  expect([none.code, none.stderr]).toEqual([1, expect.stringMatching(/^kubus: .*nobody/)]);
});

test('get lists nodes and events, and prints what a template or a selector asks for', async () => {
  expect((await node.kubus('get', 'nodes')).stdout).toMatch(
    new RegExp(`^${node.name} +Ready +<none> +\\S+ +v1\\.`, 'm'),
  );
  expect((await node.kubus('get', 'pod/hello', '-o', 'name')).stdout).toBe(`pod/hello-${node.name}\n`);
  const both = (await node.kubus('get', 'nodes,pods')).stdout;
  expect(both).toMatch(
    new RegExp(`^NAME .*\\nnode/${node.name} +Ready .*\\n\\nNAME .*\\n(.*\\n)*pod/hello-${node.name} `),
  );
  const named = await node.kubus('get', `node/${node.name}`, 'pod/hello', '-o', 'json');
  const document = JSON.parse(named.stdout) as { items: { kind: string }[] };
  expect(document.items.map(({ kind }) => kind)).toEqual(['Node', 'Pod']);
  const template = 'jsonpath={range .items[*]}{.metadata.name};{end}';
  const phase = ['--field-selector', 'status.phase=Succeeded'];
  expect((await node.kubus('get', 'pods', ...phase, '-o', template)).stdout).toBe(`once-${node.name};`);
  const started = ['--field-selector', `reason=Started,involvedObject.name=hello-${node.name}`];
  expect((await node.kubus('get', 'events', ...started)).stdout).toMatch(/^\S+ +Normal +Started +pod\/hello-/m);
  expect((await node.kubus('describe', 'node')).stdout).toMatch(/^ {2}Ready +True +KubeletReady /m);
  expect((await node.kubus('complete', '--', 'logs', 'he')).stdout).toBe(`hello-${node.name}\n`);
});

// The container of web was ended by the test of --watch.
test('why and trace explain a pod that was restarted', async () => {
  const why = await node.kubus('why', 'web');
  expect([why.code, why.stderr]).toEqual([0, '']);
  expect(why.stdout).toMatch(
    new RegExp(
      `^web-${node.name} runs and is ready since \\S+\\. Its container client was restarted once; .*` +
        String.raw` \(worker\.fact\.status of pod-workers-0 at \d\d:\d\d:\d\d\.\d{3}, message pod-workers-0\.\d+\.\d+\)\n$`,
    ),
  );
  const restart = await node.kubus('trace', 'pod', 'web', '--of', 'restart', '--critical');
  expect(restart.stdout).toMatch(/runtime\.cmd\.StartContainer .*\n(.*\n)* +total restart /);
});

test('a bug report has versions, status, messages and logs, for its owner alone', async () => {
  const file = join(node.dir.root, 'report.tar.gz');
  expect(await node.kubus('bug-report', file)).toMatchObject({ code: 0, stderr: '' });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const { stdout } = await promisify(execFile)('tar', ['-tzf', file]);
  for (const part of ['versions', 'status', 'doctor', 'settings', 'node']) expect(stdout).toContain(`/${part}.json\n`);
  for (const part of ['messages.jsonl', 'log-sync-loop.log']) expect(stdout).toContain(`/${part}\n`);
});

test('restart ends a service and waits until it is ready again; pods keep running', async () => {
  const containers = await node.stayingContainers();
  for (const service of nodeServices) {
    const { code, stdout, stderr } = await node.kubus('restart', service);
    // Its standard error says why it failed, and else what was built.
    expect([code === 0 ? '' : stderr, stdout]).toEqual([
      '',
      expect.stringMatching(new RegExp(`^${service}-0 is ready again after [\\d.]+ s\\n$`)),
    ]);
  }
  expect(await node.stayingContainers()).toEqual(containers);
  expect((await node.kubus('restart', 'nobody')).code).toBe(1);
});

test('up with other options says what differs; with --restart the node has them, and no container ends', async () => {
  const containers = await node.stayingContainers();
  const differs = await node.up('--observatory', '--scale', 'prober=2').outcome;
  expect(differs.code).toBe(0);
  expect(differs.stderr).toMatch(/^kubus: .* \(--observatory is off, --scale is one of each\): .* --restart /);
  expect((await node.kubus('status')).stdout).not.toContain('observatory');
  const restarted = await node.up('--restart', '--observatory', '--scale', 'prober=2').outcome;
  expect([restarted.code, restarted.stderr]).toEqual([0, '']);
  const status = await node.kubus('status');
  expect(status.code).toBe(0);
  for (const instance of ['observatory-0', 'prober-1'])
    expect(status.stdout).toMatch(new RegExp(`^${instance} +Ready`, 'm'));
  expect(await node.stayingContainers()).toEqual(containers);
  const { stdout } = await node.kubus('get', 'pods');
  expect(stdout).toMatch(new RegExp(`^hello-${node.name} +1/1 +Running +0 `, 'm'));
  const again = await node.up('--observatory').outcome;
  expect([again.code, again.stderr]).toEqual([0, '']);
  const refused = await node.up('--restart', '--kubeconfig', '/dev/null').outcome;
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/^kubus: only a new node can have --kubeconfig/),
  ]);
});

test('after a restart of the machine, up starts the node again with its settings, manifests and recordings', async () => {
  expect((await node.kubus('record', 'start', 'kept')).code).toBe(0);
  await node.loseRun();
  expect((await node.kubus('ls')).stdout).toMatch(new RegExp(`^${node.name} +Stopped `, 'm'));
  const { code, stdout, stderr } = await node.up().outcome;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(new RegExp(`^node ${node.name} is not running any more: it starts again`, 'm'));
  expect(stdout).toMatch(new RegExp(`^default +hello-${node.name} +1/1 +Running`, 'm'));
  const status = await node.kubus('status');
  expect([status.code, status.stdout]).toEqual([0, expect.stringMatching(/^prober-1 +Ready/m)]);
  expect((await node.kubus('record', 'list')).stdout).toMatch(/^kept /m);
});

test('down leaves the machine as it was; down again changes nothing', async () => {
  await node.runningContainers();
  await downAndClean();
  const again = await node.kubus('down');
  const stderr = `kubus: node ${node.name} does not exist on this machine: it has no node\n`;
  expect(again).toEqual({ code: 1, stdout: '', stderr });
});

test('a killed launcher: up keeps the containers, down cleans up', async () => {
  expect((await node.up().outcome).code).toBe(0);
  const containers = await node.stayingContainers();
  await node.killAll('launcher');
  const { code, stdout } = await node.up().outcome;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^kubus: starting the services \.\.\. /m);
  expect(await node.stayingContainers()).toEqual(containers);
  expect((await node.kubus('status')).code).toBe(0);
  await node.killAll('launcher');
  await downAndClean();
});

test('up shows a pod before it runs; a killed launcher and containerd: down cleans up', async () => {
  // Without its init container it might run before the first table.
  const waits = container({ name: 'waits', command: shell('sleep 3') });
  const manifest = join(await mkdtemp(join(tmpdir(), 'kubus-up-')), 'slow.json');
  await writeFile(manifest, JSON.stringify(pod('slow', { initContainers: [waits] })));
  const { code, stdout } = await node.up('--manifests', dirname(manifest)).outcome;
  expect(code).toBe(0);
  const line = (status: string) => new RegExp(`^default +slow-${node.name} +${status}`, 'm');
  expect(stdout).toMatch(line('0/1 +(Pending|Init:0/1)'));
  expect(stdout).toMatch(line('1/1 +Running'));
  await node.runningContainers();
  await node.killAll('launcher', 'containerd');
  await downAndClean();
  await rm(dirname(manifest), { recursive: true });
});

test('up --foreground stays, shows changes, and takes the node down at Ctrl-C', async () => {
  const up = node.up('--foreground');
  try {
    await up.waitForOutput(new RegExp(`hello-${node.name} +1/1 +Running`));
    await up.waitForOutput(/^NAMESPACE[^\n]*\n[^]*^NAMESPACE/m);
    await node.runningContainers();
    const { code, stdout } = await up.end('SIGINT');
    expect(code).toBe(0);
    expect(stdout).toContain(`node ${node.name} is removed`);
    expect(diffSnapshots(before, await node.snapshot())).toEqual([]);
  } finally {
    await up.end('SIGKILL');
  }
});
