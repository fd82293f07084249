import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { subjectMatches } from '@kubus/contracts';
import {
  type RunningCommand,
  type TestNode,
  isReady,
  kubusProgram,
  poll,
  startCommand,
  startNode,
} from '@kubus/harness';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { HostileNode } from '../src/hostile-node.ts';
import { TestHub } from '../src/hub.ts';
import { KubeletMachine } from '../src/kubelet-machine.ts';
import { pod } from '../src/pods.ts';
import { findPython } from '../src/python.ts';

const python = await findPython();
// Jest does not list the tests of a file if all are skipped.
if ('missing' in python) process.stderr.write(`hub.test.ts is skipped: ${python.missing}\n`);

let hub: TestHub;
const nodes: TestNode[] = [];
const commands: RunningCommand[] = [];

beforeAll(async () => {
  hub = await TestHub.start();
});
afterEach(async () => {
  for (const command of commands.splice(0)) await command.end();
  for (const node of nodes.splice(0)) await node.stop();
});
afterAll(() => hub.stop());

async function startAtHub(): Promise<TestNode> {
  let environment: Record<string, string> = {};
  try {
    const node = await startNode({
      // `up` of the harness takes no further options.
      prepare: async ({ node }) => {
        environment = await hub.admit(node);
        Object.assign(process.env, environment);
      },
    });
    nodes.push(node);
    return node;
  } finally {
    for (const name of Object.keys(environment)) Reflect.deleteProperty(process.env, name);
  }
}

const eventSchema = z.object({
  subject: z.string(),
  headers: z.looseObject({
    'Kubus-Node': z.string(),
    'Kubus-Source': z.string(),
    'Kubus-Epoch': z.string(),
    'Kubus-Seq': z.string(),
  }),
  payload: z.looseObject({ reason: z.string().optional(), ref: z.looseObject({ name: z.string() }).optional() }),
});

/** The example's own program. */
class Collector {
  readonly #command: RunningCommand;

  constructor(names: readonly string[]) {
    const args = ['--server', hub.url, '--ca', hub.ca, '--credentials', hub.credentials('reader'), '--json', ...names];
    const [program = '', ...rest] = 'missing' in python ? [] : python.command('../hub/hub.py', ...args);
    this.#command = startCommand(program, rest, {});
    commands.push(this.#command);
  }

  get events(): z.infer<typeof eventSchema>[] {
    const lines = this.#command.written.stdout.split('\n').slice(0, -1);
    return lines.map((line) => eventSchema.parse(JSON.parse(line)));
  }

  /** Resolves when the start of a pod's container on a node has been received. */
  async started(node: string, name: string): Promise<void> {
    await poll(`${name} of ${node} at the hub`, () => {
      const { child, written } = this.#command;
      if (child.exitCode !== null) throw new Error(`hub.py has ended: ${written.stderr}`);
      const is = ({ headers, payload }: z.infer<typeof eventSchema>) =>
        headers['Kubus-Node'] === node && payload.reason === 'Started' && payload.ref?.name === `${name}-${node}`;
      return Promise.resolve(this.events.some(is) || undefined);
    });
  }
}

async function runPod(node: TestNode, name: string): Promise<void> {
  await node.writeManifest(`${name}.json`, pod(name));
  await node.watch.waitForPod(name, isReady, 'ready');
}

const test2 = 'missing' in python ? test.skip : test;

test2('the events of two nodes meet at one hub, whichever process is killed, and nothing flows back', async () => {
  const [one, other] = [await startAtHub(), await startAtHub()];
  const both = [one, other];
  const reader = await hub.connect();
  const overheard: string[] = [];
  reader.subscribe('>', { callback: (_error, { subject }) => void overheard.push(subject) });
  const collector = new Collector(both.map(({ name }) => name));
  for (const node of both) await runPod(node, 'first');
  for (const node of both) await collector.started(node.name, 'first');

  for (const node of both) reader.publish(`kubus.${node.name}.runtime.cmd.StopPodSandbox.forged`);
  await reader.flush();
  for (const node of both) await runPod(node, 'second');
  for (const node of both) {
    await collector.started(node.name, 'second');
    const heard = node.watch.messages.all.map(({ message }) => message.subject);
    expect(heard.filter((subject) => subject.endsWith('.forged'))).toEqual([]);
  }
  await reader.close();

  await hub.kill();
  for (const node of both) await runPod(node, 'away');
  await hub.serve();
  for (const node of both) await collector.started(node.name, 'away');

  await one.replaced(await one.kill('nats-server'));
  await other.replaced(await other.kill('hub-relay'));
  for (const node of both) await runPod(node, 'again');
  for (const node of both) await collector.started(node.name, 'again');

  // Each once, under the name of its node.
  const { events } = collector;
  const numbers = events.map(({ headers }) =>
    ['Node', 'Source', 'Epoch', 'Seq'].map((name) => headers[`Kubus-${name}`]).join(' '),
  );
  const again = events.filter((_event, at) => numbers.indexOf(numbers[at] ?? '') < at);
  expect(again).toEqual([]);
  for (const { subject, headers } of events) {
    expect(subjectMatches(`kubus.${headers['Kubus-Node']}.*.event.*.*`, subject)).toBe(true);
  }
  // Other received messages are the hub's own and those of the reader itself.
  const own = ['kubus.*.*.event.*.*', 'kubus.*.runtime.cmd.StopPodSandbox.forged'];
  const known = [...own, '$JS.API.>', '$JS.EVENT.>', '$JS.*.API.>', '$JSC.R.*', '_INBOX.>', 'kubus-hub.>', '$JS.S.*'];
  expect(overheard.filter((subject) => !known.some((pattern) => subjectMatches(pattern, subject)))).toEqual([]);
  expect((await one.kubus('status')).code).toBe(0);
});

test2('a hostile node neither speaks as another node of its hub, nor reads or answers for it', async () => {
  const victim = await startAtHub();
  const hostile = await HostileNode.start(hub, 'hostile');
  try {
    const reader = await hub.connect();
    const overheard: string[] = [];
    reader.subscribe('>', { callback: (_error, { subject }) => void overheard.push(subject) });
    const read: string[] = [];
    hostile.connection.subscribe('>', { callback: (_error, { subject }) => void read.push(subject) });
    await reader.flush();

    // Its stream has events under its own name, and under that of the victim: by the subject, and by the header.
    const own = `kubus.${hostile.name}.worker.event.recorded`;
    const forged = `kubus.${victim.name}.worker.event.recorded`;
    const named = (node: string, number: number) => ({
      'Kubus-Node': node,
      'Kubus-Source': `//kubus/${node}/pod-workers-0`,
      'Kubus-Epoch': '1',
      'Kubus-Seq': String(number),
    });
    const started = (name: string) =>
      JSON.stringify({ reason: 'Started', message: 'forged', ref: { name: `${name}-${hostile.name}` } });
    await hostile.serve([
      { subject: `${forged}.a`, headers: named(victim.name, 1), data: started('forged') },
      { subject: `${own}.b`, headers: named(victim.name, 2), data: started('forged') },
      { subject: `${own}.c`, headers: named(hostile.name, 3), data: '{' },
      { subject: `${own}.d`, headers: named(hostile.name, 4), data: started('last') },
    ]);
    const collector = new Collector([victim.name, hostile.name]);
    await runPod(victim, 'first');
    await collector.started(victim.name, 'first');
    await collector.started(hostile.name, 'last');
    expect(collector.events.filter(({ payload }) => payload.ref?.name.startsWith('forged'))).toEqual([]);
    expect(collector.events.filter(({ subject }) => subject.endsWith('.a'))).toEqual([]);

    // Nor past its stream: what it publishes does not arrive, and what it asks for it does not get.
    const past = `kubus.${victim.name}.worker.event.status.e`;
    const deliver = `kubus-hub.${victim.name}.x`;
    for (const subject of [past, deliver, `$JS.${victim.name}.API.STREAM.NAMES`, 'kubus-hub.y']) {
      hostile.connection.publish(subject, started('forged'));
    }
    await hostile.connection.flush();
    await reader.request(`$JS.${hostile.name}.API.STREAM.NAMES`, '', { timeout: 5_000 });
    expect(overheard.filter((subject) => [past, deliver, 'kubus-hub.y'].includes(subject))).toEqual([]);
    const foreign = (subject: string) => subject.includes(victim.name) && subject.startsWith('kubus');
    const sent = [`${forged}.a`, past, deliver];
    expect(read.filter((subject) => foreign(subject) && !sent.includes(subject))).toEqual([]);
    expect(read.filter((subject) => subject.startsWith(`$JS.${victim.name}.`))).toEqual([
      `$JS.${victim.name}.API.STREAM.NAMES`,
    ]);
    await reader.close();
  } finally {
    await hostile.stop();
  }
});

test2('a node instead of the kubelet that sends its events to a hub', async () => {
  const machine = await KubeletMachine.start();
  try {
    // A name with a dot is escaped in subjects and in the names of streams.
    const name = 'machine.example';
    await machine.runtime.reach(hub.leafPort);
    await hub.admit(name);
    await machine.write('manifests/hello.json', pod('hello'));
    const flags = [
      ...(await machine.configure()),
      `--hostname-override=${name}`,
      '--runtime-handler=',
      `--hub=tls://localhost:${hub.leafPort}`,
    ];
    const without = await machine.kubelet(...flags).outcome;
    expect(without.code).toBe(1);
    expect(without.stderr).toMatch(/--hub tls:\S+ needs --hub-credentials FILE/);
    const agent = machine.kubelet(...flags, `--hub-ca=${hub.ca}`, `--hub-credentials=${hub.credentials(name)}`);
    await machine.notified(agent, 'READY=1');
    const collector = new Collector([name]);
    await collector.started(name, 'hello');
    expect(agent.written.stderr).not.toContain(await hub.password(name));
  } finally {
    await machine.remove();
  }
});

test('an unusable hub is reported in one line, and nothing is started', async () => {
  const { KUBUS_HUB: url = '', KUBUS_HUB_CREDENTIALS: credentials = '' } = await hub.admit('nowhere');
  const up = (...args: string[]) => {
    const environment = { KUBUS_LIB_DIR: join(hub.folder, 'lib'), KUBUS_RUN_DIR: join(hub.folder, 'run') };
    return startCommand(process.execPath, [kubusProgram, '--node', 'nowhere', 'up', ...args], environment).outcome;
  };
  const refused = async (message: RegExp, ...args: string[]) => {
    const { code, stderr } = await up(...args);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  };
  await refused(/^kubus: --hub tls:\S+ needs --hub-credentials FILE/, '--hub', url);
  await refused(/^kubus: "http:.*use nats-leaf:/, '--hub', 'http://localhost', '--hub-credentials', credentials);
  await refused(/^kubus: --hub-credentials \/none cannot be read: ENOENT/, '--hub', url, '--hub-credentials', '/none');
  const wide = join(hub.folder, 'cert.pem');
  await chmod(wide, 0o644);
  await refused(/cert\.pem is readable by others \(mode 644\): run chmod 600/, '--hub', url, '--hub-credentials', wide);
});
