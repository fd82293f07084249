// How often cgroups are read, and the rates from two readings; with a cgroup v2 hierarchy made of files.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CgroupReader } from '@kubus/cgroup';
import type { RuntimePod } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HostFigures } from '../src/host-figures.ts';
import { NodeSampler } from '../src/node-sampler.ts';
import { runOf } from './run-of.ts';

const pod: RuntimePod = {
  ref: { namespace: 'default', name: 'web', uid: 'u' },
  stamp: { epoch: 1, counter: 1 },
  sandboxes: [{ id: 'pause', attempt: 0, ready: true, createdAt: '5000000000', ips: ['10.0.0.1'], runtimeHandler: '' }],
  containers: [{ ...runOf('run', ''), createdAt: '6000000000' }, runOf('over', '', 'exited')],
};
const PATH = '/kubepods/besteffort/podu';

let folder: string;
let clock: ManualClock;
let cgroups: CgroupReader;
let pods: RuntimePod[];
let sampler: NodeSampler;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-sampler-'));
  write('proc/meminfo', 'MemTotal: 1000 kB\nMemFree: 400 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n');
  write('proc/77/net/dev', '  eth0: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n');
  write('proc/self/net/dev', '  eth0: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n');
  write('proc/78/limits', 'Max open files            1024                 4096                 files     \n');
  for (const path of ['', '/kubepods', PATH, `${PATH}/pause`, `${PATH}/run`]) uses(path, 1000);
  write(`cgroup${PATH}/pause/cgroup.procs`, '77\n');
  write(`cgroup${PATH}/run/cgroup.procs`, '78\n79\n');
  clock = new ManualClock();
  pods = [pod];
  const controllers = new Map(['cpu', 'memory', 'io', 'pids'].map((name) => [name, join(folder, 'cgroup')]));
  cgroups = new CgroupReader({ mounts: { version: 2, controllers, unified: join(folder, 'cgroup') } });
  const host = new HostFigures({ proc: join(folder, 'proc'), root: '' }, clock);
  const system = [
    { name: 'kubelet', path: '/agent', startedAtMs: 7000 },
    { name: 'runtime', path: '/runtime' },
    { name: 'misc', path: '/missing' },
  ] as const;
  sampler = new NodeSampler({ clock, cgroups, host, pods: () => pods, system });
});
afterEach(async () => {
  await sampler.stop();
  rmSync(folder, { recursive: true });
});

function write(file: string, text: string): void {
  mkdirSync(join(folder, file, '..'), { recursive: true });
  writeFileSync(join(folder, file), text);
}

/** Sets the CPU time that a cgroup has used, in microseconds; the pod's, which contains the others, is no less. */
function uses(path: string, cpuUs: number): void {
  if (path.startsWith(`${PATH}/`)) uses(PATH, cpuUs);
  write(`cgroup${path}/cpu.stat`, `usage_usec ${cpuUs}\nuser_usec 0\nsystem_usec 0\n`);
  write(`cgroup${path}/memory.current`, '1000\n');
  write(`cgroup${path}/memory.stat`, 'anon 600\ninactive_file 300\n');
}

test('a sample contains the pods with their containers', async () => {
  const { root, tiers, network, pods: read } = await sampler.sample('all');
  // The topmost cgroup of v2 does not report the machine's usage.
  expect(root.usage.memory.usageBytes).toBe(600 * 1024);
  expect(tiers.map(({ path }) => path)).toEqual(['/kubepods']);
  expect(network?.interfaces).toMatchObject([{ name: 'eth0', received: { bytes: 9 } }]);
  expect(read).toMatchObject([
    {
      ...{ ref: pod.ref, startedAtMs: 5000, processes: 3, cgroup: { path: PATH } },
      sandbox: { id: 'pause', cgroup: { path: `${PATH}/pause`, processes: 1 } },
      network: { interfaces: [{ name: 'eth0', received: { bytes: 5 }, sent: { bytes: 7 } }] },
      containers: [
        {
          ...{ id: 'run', name: 'main', startedAtMs: 6000 },
          cgroup: { path: `${PATH}/run`, processes: 2, openFilesLimit: 1024 },
        },
      ],
    },
  ]);
  expect(read[0]?.containers).toHaveLength(1);
});

test('a sample contains the programs that are not pods, where their cgroups exist', async () => {
  for (const path of ['/agent', '/runtime']) uses(path, 1000);
  const { system } = await sampler.sample('pressure');
  expect(system).toMatchObject([
    { name: 'kubelet', cgroup: { path: '/agent', startedAtMs: 7000, usage: { cpuNs: 1_000_000 } } },
    { name: 'runtime', cgroup: { path: '/runtime', usage: { cpuNs: 1_000_000 } } },
  ]);
  expect(system[1]?.cgroup.startedAtMs).toBe(statSync(join(folder, 'cgroup/runtime')).mtimeMs);
});

test('a sample of usage reads nothing else', async () => {
  const { tiers, system, network, pods: read } = await sampler.sample('usage');
  expect([tiers.length, system.length]).toEqual([1, 0]);
  expect([tiers.length, network, read[0]?.sandbox, read[0]?.network, read[0]?.processes]).toEqual([
    1,
    ...Array.from({ length: 4 }),
  ]);
});

test('a sample is reused for two seconds for requests that need no more than it contains', async () => {
  const first = await sampler.sample('pressure');
  await clock.advance(1_999);
  expect(await sampler.sample('usage')).toBe(first);
  expect(await sampler.sample('all')).not.toBe(first);
  await clock.advance(2_000);
  expect(await sampler.sample('usage')).not.toBe(first);
});

test('concurrent requests share a sample', async () => {
  const [one, two] = await Promise.all([sampler.sample('all'), sampler.sample('usage')]);
  expect(two).toBe(one);
});

test('the first sample with rates waits for a second', async () => {
  const asking = sampler.sampleWithRates('pressure');
  await clock.advance(500);
  uses(`${PATH}/run`, 1000 + 250_000);
  await clock.advance(500);
  const { root, pods: read } = await asking;
  expect(root.nanoCores).toBe(0);
  expect(read[0]?.containers[0]?.cgroup?.nanoCores).toBe(250_000_000);
  // The next one can be compared with this one.
  await clock.advance(10_000);
  uses(`${PATH}/run`, 1000 + 250_000 + 1_000_000);
  const next = await sampler.sampleWithRates('pressure');
  expect(next.pods[0]?.containers[0]?.cgroup?.nanoCores).toBe(100_000_000);
});

test('a sample without rates is not reused for a request with rates', async () => {
  await sampler.sample('all');
  await clock.advance(1_000);
  const { root } = await sampler.sampleWithRates('usage');
  expect(root.nanoCores).toBe(0);
});

test('two samples in quick succession are compared with the one before', async () => {
  await sampler.sample('usage');
  await clock.advance(10_000);
  await sampler.sample('usage');
  await clock.advance(500);
  uses(PATH, 1000 + 1_050_000);
  const { pods: read } = await sampler.sample('all');
  expect(read[0]?.cgroup?.nanoCores).toBe(100_000_000);
});

test('limits are read again when the pod state changes, and after five minutes', async () => {
  const limits = async () => {
    const [read] = (await sampler.sample('usage')).pods;
    return [read?.cgroup, read?.containers[0]?.cgroup].map((cgroup) => cgroup?.usage.memory.limitBytes);
  };
  const set = (limit: number) => {
    for (const path of [PATH, `${PATH}/run`]) write(`cgroup${path}/memory.max`, `${limit}\n`);
  };
  set(5000);
  expect(await limits()).toEqual([5000, 5000]);
  set(6000);
  await clock.advance(3_000);
  expect(await limits()).toEqual([5000, 5000]);
  pods = [{ ...pod, stamp: { epoch: 1, counter: 2 } }];
  await clock.advance(3_000);
  expect(await limits()).toEqual([6000, 6000]);
  set(7000);
  for (let passed = 0; passed < 300_000; passed += 100_000) {
    await clock.advance(100_000);
    await sampler.sample('usage');
  }
  expect(await limits()).toEqual([7000, 7000]);
});

test('the processes of a container are read again when its CPU time has changed', async () => {
  const [found] = (await sampler.sample('all')).pods;
  expect(found?.containers[0]?.cgroup?.processes).toBe(2);
  write(`cgroup${PATH}/run/cgroup.procs`, '78\n');
  await clock.advance(3_000);
  const [idle] = (await sampler.sample('all')).pods;
  expect(idle?.containers[0]?.cgroup?.processes).toBe(2);
  expect(idle?.containers[0]?.cgroup?.usage).toBe(found?.containers[0]?.cgroup?.usage);
  uses(`${PATH}/run`, 1001);
  await clock.advance(3_000);
  // A sample of less detail comes in between.
  await sampler.sample('usage');
  await clock.advance(3_000);
  expect((await sampler.sample('all')).pods[0]?.containers[0]?.cgroup?.processes).toBe(1);
});

test('only the pod’s own cgroup is read while its CPU time does not change', async () => {
  const memoryOf = async () => {
    await clock.advance(3_000);
    return (await sampler.sample('all')).pods[0]?.containers[0]?.cgroup?.usage.memory.rssBytes;
  };
  const holds = (path: string, bytes: number) =>
    write(`cgroup${path}/memory.stat`, `anon ${bytes}\ninactive_file 300\n`);
  expect([await memoryOf(), await memoryOf()]).toEqual([600, 600]);
  holds(`${PATH}/run`, 700);
  expect(await memoryOf()).toBe(600);
  holds(PATH, 700);
  expect(await memoryOf()).toBe(700);
});

test('a removed pod and a new container cause no error', async () => {
  await sampler.sample('all');
  const files = cgroups.open;
  await clock.advance(3_000);
  rmSync(join(folder, 'cgroup', PATH), { recursive: true });
  const gone = await sampler.sample('all');
  expect(gone.pods).toMatchObject([{ cgroup: undefined, containers: [{ cgroup: undefined }] }]);
  pods = [];
  await clock.advance(3_000);
  expect((await sampler.sample('all')).pods).toEqual([]);
  expect(cgroups.open).toBeLessThan(files);
});

test('all files are closed after a time without requests', async () => {
  await sampler.sample('all');
  expect(cgroups.open).toBeGreaterThan(0);
  await clock.advance(5 * 60_000);
  expect(cgroups.open).toBe(0);
  const asking = sampler.sampleWithRates('usage');
  await clock.advance(1_000);
  expect((await asking).root.nanoCores).toBe(0);
});
