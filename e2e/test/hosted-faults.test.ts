import { expect } from '@jest/globals';
import { keyOf } from '@kubus/contracts';
import { type TestNode, type WatchedPod, checkout, isReady, poll } from '@kubus/harness';
import { join } from 'node:path';
import { sharedNode } from '../src/node-tests.ts';
import { containerStatus } from '../src/pod-facts.ts';
import { container, pod } from '../src/pods.ts';

/** All services but the prober, which the test runs, share a process and deliver to each other directly. */
const onNode = sharedNode('hosted-faults', { faults: true, placement: 'hosted', elsewhere: ['prober'] });

async function fault(node: TestNode, ...args: string[]): Promise<void> {
  const { code, stderr } = await node.kubus('fault', ...args);
  expect([code, stderr]).toEqual([0, '']);
}

/** The pid of the process that the services share. */
async function shared(node: TestNode): Promise<number> {
  return (await poll('the services', () => node.process('services'))).pid;
}

/** The rules that were applied, as `INSTANCE RULE SIDE`, without repetitions. */
function applied(node: TestNode): string[] {
  const events = node.watch.messages.ofType('fault.event.faulted').map(({ message }) => {
    const { rule, side } = JSON.parse(message.data) as { rule: string; side: string };
    return `${keyOf(message.subject)} ${rule} ${side}`;
  });
  return [...new Set(events)].sort();
}

onNode('fault rules act on what services of one process deliver directly, and end, while it runs on', async (node) => {
  const pid = await shared(node);
  await node.writeManifest('before.json', pod('before'));
  await node.watch.waitForPod('before');
  await fault(node, 'drop', 'runtime.cmd.>', '--every', '3', '--id', 'lossy');
  await fault(node, 'delay', 'reply.pod-workers.>', '--by', '20ms', '--id', 'slow');
  await fault(node, 'duplicate', 'runtime.fact.pod.*', '--reader', 'sync-loop', '--id', 'twice');
  await node.writeManifest('during.json', pod('during'));
  const started = await node.watch.waitForPod('during');
  expect(containerStatus(started)?.restartCount).toBe(0);
  expect(applied(node)).toEqual(['cri-bridge-0 slow sender', 'pod-workers-0 lossy sender', 'sync-loop-0 twice reader']);
  const runs = (await node.events.runs()).filter(({ labels }) => labels['io.kubernetes.pod.uid'] === started.ref.uid);
  expect(runs).toHaveLength(2);

  await fault(node, 'clear');
  const count = () => node.watch.messages.ofType('fault.event.faulted').length;
  const before = count();
  await node.writeManifest('after.json', pod('after'));
  await node.watch.waitForPod('after');
  expect(count()).toBe(before);
  expect(await shared(node)).toBe(pid);
});

onNode(
  'a service that the user runs is reached through the broker, and may end, while the others run on',
  async (node) => {
    const pid = await shared(node);
    const main = container({ name: 'main', readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } });
    const write = (name: string) => node.writeManifest(`${name}.json`, pod(name, { containers: [main] }));
    const find = (name: string, is: (one: WatchedPod) => boolean) =>
      node.watch.until(name, () => node.watch.podsNamed(name).find(is));
    const program = join(checkout, 'services/prober/dist/main.mjs');
    const config = join(node.dir.config, 'node.json');
    await write('first');
    expect(isReady(await find('first', (one) => containerStatus(one)?.started === true))).toBe(false);
    for (const name of ['first', 'second']) {
      if (name === 'second') await write(name);
      const prober = node.startKubus('inside', '--', process.execPath, program, '--config', config);
      try {
        await find(name, isReady);
        expect(node.watch.instance('prober-0')?.pid).not.toBe(pid);
      } finally {
        await prober.end();
      }
    }
    expect(await shared(node)).toBe(pid);
  },
);
