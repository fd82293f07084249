import { isSoak } from '@kubus/harness';
import { expect } from '@jest/globals';
import { sharedNode } from '../src/node-tests.ts';
import { containerStatus } from '../src/pod-facts.ts';
import { pod } from '../src/pods.ts';

const onNode = sharedNode('stuck');

interface Status {
  readonly services: readonly { readonly instance: string; readonly stuck?: { readonly count: number } }[];
}

/** In the soak each of them; otherwise those two that pods cannot start without. */
const victims = isSoak
  ? [
      ...['config-sources', 'sync-loop', 'pod-workers', 'cri-bridge', 'cni-bridge'],
      ...['volume-manager', 'prober', 'node-agent', 'node-api'],
    ]
  : ['sync-loop', 'cri-bridge'];

onNode('services that are stopped (SIGSTOP) are ended and started again, and pods go on', async (node) => {
  await node.writeManifest('a.json', pod('a'));
  const before = containerStatus(await node.watch.waitForPod('a'));
  const records = await Promise.all(victims.map((service) => node.kill(`${service}-0`, 'SIGSTOP')));
  await Promise.all(records.map((record) => node.replaced(record)));
  await node.writeManifest('b.json', pod('b'));
  await node.watch.waitForPod('b');
  expect(containerStatus(await node.watch.waitForPod('a'))?.containerID).toBe(before?.containerID);
  const { stdout } = await node.kubus('status', '-o', 'json');
  const { services } = JSON.parse(stdout) as Status;
  const ended = services.filter(({ stuck }) => stuck?.count === 1).map(({ instance }) => instance);
  expect(ended.sort()).toEqual(victims.map((service) => `${service}-0`).sort());
  const { stdout: events } = await node.kubus('events', '--for', `node/${node.dir.node}`);
  for (const service of victims) expect(events).toMatch(new RegExp(`ServiceStuck .*${service}-0 is ended and started`));
});
