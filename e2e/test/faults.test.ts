import { expect } from '@jest/globals';
import { keyOf } from '@kubus/contracts';
import { type TestNode, poll } from '@kubus/harness';
import { readFile } from 'node:fs/promises';
import { sharedNode } from '../src/node-tests.ts';
import { containerStatus } from '../src/pod-facts.ts';
import { pod } from '../src/pods.ts';

const onNode = sharedNode('faults', { faults: true });

/** Runs a command that must succeed, and returns its output as a document. */
async function json(node: TestNode, ...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await node.kubus(...args, '-o', 'json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as unknown;
}

/** The items of the list that a command prints. */
async function items(node: TestNode, ...args: string[]): Promise<unknown> {
  return ((await json(node, ...args)) as { items: unknown }).items;
}

/** `T` is a stopped process, see proc(5). */
async function stateOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2)[0];
}

onNode('pods start although messages are lost, delayed and duplicated', async (node) => {
  // The commands of workers: each is sent again, and done once.
  await json(node, 'fault', 'drop', 'runtime.cmd.>', '--every', '3', '--id', 'lossy');
  await json(node, 'fault', 'duplicate', 'runtime.cmd.>', '--times', '2', '--id', 'double');
  await json(node, 'fault', 'delay', 'reply.pod-workers.>', '--by', '20ms', '--jitter', '20ms', '--id', 'slow');
  await json(node, 'fault', 'reorder', 'runtime.fact.pod.*', '--reader', 'sync-loop', '--id', 'mixed');
  expect(await items(node, 'fault', 'list')).toMatchObject([
    { rule: { id: 'lossy' } },
    { rule: { id: 'double' } },
    { rule: { id: 'slow' } },
    { rule: { id: 'mixed', match: { reader: 'sync-loop' } } },
  ]);
  await node.writeManifest('a.json', pod('a'));
  const started = await node.watch.waitForPod('a');
  expect(containerStatus(started)?.restartCount).toBe(0);
  expect(await json(node, 'fault', 'clear')).toEqual({
    apiVersion: 'kubus.dev/v1',
    kind: 'ClearedFaults',
    cleared: ['lossy', 'double', 'slow', 'mixed'],
  });
  expect(await items(node, 'fault', 'list')).toEqual([]);

  const published = node.watch.messages.ofType('fault.event.faulted').map(({ message }) => {
    const { rule, side } = JSON.parse(message.data) as { rule: string; side: string };
    return `${keyOf(message.subject)} ${rule} ${side}`;
  });
  expect([...new Set(published)].sort()).toEqual([
    'cri-bridge-0 slow sender',
    'pod-workers-0 double sender',
    'pod-workers-0 lossy sender',
    'sync-loop-0 mixed reader',
  ]);
  // The sandbox and the container were created once each.
  const { uid } = started.ref;
  const runs = (await node.events.runs()).filter(({ labels }) => labels['io.kubernetes.pod.uid'] === uid);
  expect(runs).toHaveLength(2);
});

onNode('a service is paused and continued, killed and restarted without affecting pods', async (node) => {
  await node.writeManifest('b.json', pod('b'));
  const before = containerStatus(await node.watch.waitForPod('b'));
  const loop = await poll('sync-loop', () => node.process('sync-loop-0'));
  expect(await json(node, 'fault', 'pause', 'sync-loop', '--for', '10m')).toEqual({
    apiVersion: 'kubus.dev/v1',
    kind: 'DisturbedInstances',
    what: 'pause',
    instances: ['sync-loop-0'],
  });
  // On a busy machine the kernel stops it a moment after the signal.
  await poll('sync-loop stops', async () => ((await stateOf(loop.pid)) === 'T' ? true : undefined));
  expect((await node.kubus('fault', 'clear')).code).toBe(0);
  await poll('sync-loop goes on', async () => ((await stateOf(loop.pid)) === 'T' ? undefined : true));

  await json(node, 'fault', 'pause', 'sync-loop', '--for', '200ms');
  await poll('the end of the pause', async () => ((await stateOf(loop.pid)) === 'T' ? undefined : true));

  for (const action of ['kill', 'restart']) {
    const record = await poll('prober', () => node.process('prober-0'));
    await json(node, 'fault', action, 'prober');
    await node.replaced(record);
  }
  const deeds = node.watch.messages
    .ofType('fault.event.service')
    .map(({ message }) => (JSON.parse(message.data) as { what: string }).what);
  expect(deeds).toEqual(['pause', 'continue', 'pause', 'continue', 'kill', 'restart']);
  const after = await node.watch.waitForPod('b');
  expect(containerStatus(after)?.containerID).toBe(before?.containerID);
});

onNode('wrong arguments are refused with the reason, and a rule names a pod', async (node) => {
  const failed = async (...args: string[]) => {
    const { code, stderr } = await node.kubus('fault', ...args);
    expect(code).not.toBe(0);
    return stderr;
  };
  expect(await failed('drop', 'a..b')).toMatch(/match\.subject: "a\.\.b" is not a subject pattern/);
  expect(await failed('drop', '>', '--reader', 'nobody')).toMatch(
    /match\.reader: "nobody" is neither a service nor an instance/,
  );
  expect(await failed('drop', '>', '--pod', 'nobody')).toMatch(/pods "nobody" not found/);
  expect(await failed('delay', '>')).toMatch(/required option '--by/);
  expect(await failed('kill', 'nobody')).toMatch(/no service "nobody" runs on this node/);
  expect(await failed('clear', 'nothing')).toMatch(/there is no fault "nothing"/);

  await node.writeManifest('c.json', pod('c'));
  const { ref } = await node.watch.waitForPod('c');
  expect(await json(node, 'fault', 'drop', 'probe.>', '--pod', 'c', '--for', '5m')).toMatchObject({
    rule: { match: { pod: ref.uid }, when: { forMs: 300_000 } },
  });
  expect((await node.kubus('fault', 'clear')).code).toBe(0);
});
