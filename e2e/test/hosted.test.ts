import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { nodeServices } from '@kubus/launcher';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UserNode } from '../src/user-node.ts';

let node: UserNode;

beforeAll(async () => {
  node = await UserNode.prepare();
});
afterAll(() => node.remove());

/** Three services share a process, and two more. */
const groups = 'groups:\n  control: [config-sources, sync-loop, pod-workers]\n  runtime: [cri-bridge, cni-bridge]\n';

/** The processes of the services, and whether all of them are healthy. */
async function services(): Promise<{ healthy: boolean; pids: Set<number>; names: string[] }> {
  const { stdout } = await node.kubus('status', '-o', 'json');
  const status = JSON.parse(stdout) as { healthy: boolean; services: { instance: string; pid?: number }[] };
  const own = status.services.filter(({ instance }) => instance !== 'launcher-0');
  return {
    healthy: status.healthy,
    pids: new Set(own.flatMap(({ pid }) => pid ?? [])),
    names: own.map(({ instance }) => instance),
  };
}

test('all services run in one process, whose end affects no container', async () => {
  expect((await node.up('--placement', 'hosted').outcome).code).toBe(0);
  const before = await services();
  expect([before.healthy, before.pids.size]).toEqual([true, 1]);
  expect(before.names).toEqual(nodeServices.map((service) => `${service}-0`).sort());
  const containers = await node.stayingContainers();
  expect(containers.size).toBeGreaterThan(0);

  await node.killAll('services');
  const after = await poll('all services in another process', async () => {
    const now = await services();
    return now.healthy && now.pids.size === 1 && ![...now.pids].some((pid) => before.pids.has(pid)) ? now : undefined;
  });
  expect(after.names).toEqual(before.names);
  expect(await node.stayingContainers()).toEqual(containers);
});

test('a service is restarted with the others; one of several instances is a process of its own', async () => {
  const refused = await node.kubus('restart', 'sync-loop');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('use "services"') });
  const restarted = await node.kubus('restart', 'services');
  expect(restarted.code).toBe(0);
  for (const service of nodeServices) expect(restarted.stdout).toContain(`${service}-0 is ready again`);
  expect((await node.kubus('scale', 'prober', '2')).stdout).toBe('prober runs as prober-0, prober-1\n');
  expect((await services()).pids.size).toBe(2);
});

test('groups of a file share processes, and pods keep running', async () => {
  const containers = await node.stayingContainers();
  const file = join(node.dir.root, 'groups.yaml');
  await writeFile(file, groups);
  expect((await node.up('--restart', '--placement', file).outcome).code).toBe(0);
  const { stdout } = await node.kubus('status', '-o', 'json');
  const status = JSON.parse(stdout) as { healthy: boolean; services: { process: string; pid: number }[] };
  const pids = (process: string) => status.services.filter((one) => one.process === process).map(({ pid }) => pid);
  expect(status.healthy).toBe(true);
  expect([pids('services-control').length, new Set(pids('services-control')).size]).toEqual([3, 1]);
  expect([pids('services-runtime').length, new Set(pids('services-runtime')).size]).toEqual([2, 1]);
  expect(pids('prober-0')).toHaveLength(1);
  const { stdout: graph } = await node.kubus('graph', 'sync-loop');
  expect(graph).toMatch(/^sync-loop \(in process services-control\): /);
  expect(await node.stayingContainers()).toEqual(containers);
});
