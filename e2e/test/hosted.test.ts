import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkout, poll } from '@kubus/harness';
import { nodeServices } from '@kubus/service-kit';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pod } from '../src/pods.ts';
import { UserNode } from '../src/user-node.ts';

let node: UserNode;
let manifests: string;

beforeAll(async () => {
  node = await UserNode.prepare();
  manifests = await mkdtemp(join(tmpdir(), 'kubus-test-'));
  await writePod('first');
});
afterAll(async () => {
  await node.remove();
  await rm(manifests, { recursive: true });
});

function writePod(name: string): Promise<void> {
  return writeFile(join(manifests, `${name}.json`), JSON.stringify(pod(name)));
}

/** Resolves when the container of a pod runs. */
async function untilRuns(name: string): Promise<void> {
  await poll(`the container of ${name}`, async () =>
    [...(await node.runningContainers()).keys()].some((one) => one.startsWith(`${name}-`)) ? true : undefined,
  );
}

/** The pid of each service of a node that is healthy. */
async function pids(): Promise<Map<string, number>> {
  return poll('a healthy node', async () => {
    const { stdout } = await node.kubus('status', '-o', 'json');
    const status = JSON.parse(stdout) as { healthy: boolean; services: { instance: string; pid: number }[] };
    return status.healthy ? new Map(status.services.map(({ instance, pid }) => [instance, pid])) : undefined;
  });
}

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
  expect((await node.up('--manifests', manifests, '--placement', 'hosted').outcome).code).toBe(0);
  const before = await services();
  expect([before.healthy, before.pids.size]).toEqual([true, 1]);
  expect(before.names).toEqual(nodeServices.map((service) => `${service}-0`).sort());
  await untilRuns('first');
  const containers = await node.stayingContainers();

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

test('a second instance of workers shares the pods, and goes again, while the process of all others stays', async () => {
  const before = await pids();
  expect((await node.kubus('scale', 'pod-workers', '2')).stdout).toBe(
    'pod-workers runs as pod-workers-0, pod-workers-1\n',
  );
  const { ['pod-workers-1']: added, ...others } = Object.fromEntries(await pids());
  expect(others).toEqual(Object.fromEntries(before));
  expect([...before.values()]).not.toContain(added);
  for (const name of ['a', 'b', 'c', 'd']) await writePod(`scaled-${name}`);
  for (const name of ['a', 'b', 'c', 'd']) await untilRuns(`scaled-${name}`);
  expect((await node.kubus('scale', 'pod-workers', '1')).stdout).toBe('pod-workers runs as pod-workers-0\n');
  await writePod('unscaled');
  await untilRuns('unscaled');
  expect(await pids()).toEqual(before);
});

test.each(['sync-loop', 'pod-workers'])(
  '%s moves out of the process and back, while the others stay',
  async (service) => {
    const program = join(checkout, 'services', service, 'dist/main.mjs');
    const before = await pids();
    const run = 'exec "$0" "$1" --config "$KUBUS_CONFIG" --slot "$KUBUS_SLOT"';
    const replaced = node.start('replace', service, '--', 'sh', '-c', run, process.execPath, program);
    const others = (all: ReadonlyMap<string, number>) => [...all].filter(([instance]) => instance !== `${service}-0`);
    try {
      const out = await poll('another process', async () => {
        const now = await pids();
        return now.get(`${service}-0`) === before.get(`${service}-0`) ? undefined : now;
      });
      expect(others(out)).toEqual(others(before));
      expect((await node.kubus('graph', service)).stdout).toMatch(new RegExp(`^${service}: `));
      await writePod(`out-${service}`);
      await untilRuns(`out-${service}`);
      const { code, stderr } = await replaced.end();
      expect([code, stderr]).toEqual([0, expect.stringContaining(`the bundled ${service}-0 is ready again`)]);
    } finally {
      await replaced.end();
    }
    expect(await pids()).toEqual(before);
    expect((await node.kubus('graph', service)).stdout).toMatch(new RegExp(`^${service} \\(in process services\\): `));
    await writePod(`back-${service}`);
    await untilRuns(`back-${service}`);
  },
);

test('groups of a file share processes, and pods keep running', async () => {
  const containers = await node.stayingContainers();
  const file = join(node.dir.root, 'groups.yaml');
  await writeFile(file, groups);
  expect((await node.up('--manifests', manifests, '--restart', '--placement', file).outcome).code).toBe(0);
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
