// Memory that pods share: protected with cgroup v2 (KEP-2570), and kept from lower classes (qosReserved).
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Systemd } from '@kubus/dbus';
import { systemClock } from '@kubus/service-kit';
import { TestSystemd } from '@kubus/systemd-fixture';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CgroupMounts, PodCgroupTree, cgroupMounts, cgroupTree, removeFolders } from '../src/index.ts';
import { sliceMounts } from './slice-mounts.ts';

const MiB = 1024 ** 2;
const pod = (uid: string, requests: Record<string, string>, limits: Record<string, string> = {}) => ({
  metadata: { name: uid, namespace: 'default', uid },
  spec: { containers: [{ name: 'main', resources: { requests, limits } }] },
});
const guaranteed = { cpu: '100m', memory: '64Mi' };

describe('memory of slices', () => {
  let bus: TestSystemd;
  let systemd: Systemd;
  let mounts: CgroupMounts;
  let root = 0;
  beforeAll(async () => {
    bus = await TestSystemd.start();
    systemd = new Systemd({ address: bus.address, clock: systemClock });
    mounts = sliceMounts(bus);
  });
  beforeEach(() => {
    root += 1;
  });
  afterAll(async () => {
    await systemd.close();
    await bus.stop();
  });

  const newTree = (memoryReservation: 'None' | 'TieredReservation') =>
    new PodCgroupTree({
      ...{ root: `/m${root}`, driver: 'systemd', units: systemd, mounts, memoryReservation },
      allocatable: { cpu: '2', memory: '4Gi' },
    });
  const pods = () => `m${root}.slice/m${root}-kubepods.slice`;
  const burstable = () => `${pods()}/m${root}-kubepods-burstable.slice`;
  /** MiB that are protected for good, and taken back last. */
  const protectedIn = (cgroup: string) =>
    ['memory.min', 'memory.low'].map((file) => Number(readFileSync(join(bus.cgroups, cgroup, file), 'utf8')) / MiB);

  test('is protected as pods request it, and above them as much as in all of them', async () => {
    const tree = newTree('TieredReservation');
    await tree.ensure(pod('g', guaranteed, guaranteed), 'Guaranteed');
    await tree.ensure(pod('b', { memory: '16Mi' }), 'Burstable');
    await tree.ensure(pod('e', {}), 'BestEffort');
    const expected = {
      [pods()]: [80, 0],
      [`${pods()}/m${root}-kubepods-podg.slice`]: [64, 0],
      [burstable()]: [0, 16],
      [`${burstable()}/m${root}-kubepods-burstable-podb.slice`]: [0, 16],
      [`${pods()}/m${root}-kubepods-besteffort.slice`]: [0, 0],
      [`${pods()}/m${root}-kubepods-besteffort.slice/m${root}-kubepods-besteffort-pode.slice`]: [0, 0],
    };
    const values = () => Object.fromEntries(Object.keys(expected).map((cgroup) => [cgroup, protectedIn(cgroup)]));
    expect(values()).toEqual(expected);
    expect(tree.protectedMemory).toEqual({ pods: BigInt(80 * MiB), burstable: BigInt(16 * MiB) });
    await bus.reload();
    expect(values()).toEqual(expected);
  });

  test('follows the pods, those of another instance too', async () => {
    const [one, other] = [newTree('TieredReservation'), newTree('TieredReservation')];
    await one.ensure(pod('g', guaranteed, guaranteed), 'Guaranteed');
    await other.ensure(pod('b', { memory: '16Mi' }), 'Burstable');
    expect([protectedIn(pods()), protectedIn(burstable())]).toEqual([
      [80, 0],
      [0, 16],
    ]);
    await one.ensure(pod('g', guaranteed, guaranteed), 'Guaranteed');
    await one.remove('g');
    expect(protectedIn(pods())).toEqual([16, 0]);
    await other.refresh([{ pod: pod('b', { memory: '32Mi' }), qos: 'Burstable' }]);
    expect([protectedIn(pods()), protectedIn(burstable())]).toEqual([
      [32, 0],
      [0, 32],
    ]);
  });

  test('is not protected without a reservation, also where an earlier agent did so', async () => {
    await newTree('TieredReservation').ensure(pod('b', { memory: '16Mi' }), 'Burstable');
    const tree = newTree('None');
    await tree.refresh([{ pod: pod('b', { memory: '16Mi' }), qos: 'Burstable' }]);
    expect([protectedIn(pods()), protectedIn(burstable())]).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(tree.protectedMemory).toEqual({ pods: 0n, burstable: 0n });
  });

  test('is protected in a reserved slice', async () => {
    await systemd.startTransientUnit(`m${root}-system.slice`, []);
    const slice = `m${root}.slice/m${root}-system.slice`;
    writeFileSync(join(bus.cgroups, slice, 'cgroup.controllers'), 'cpu cpuset memory pids');
    await newTree('None').limitReserved(`/m${root}-system.slice`, { memory: '64Mi' }, false);
    expect(protectedIn(slice)).toEqual([64, 0]);
  });
});

const machine = await cgroupMounts();

describe('memory of the machine’s cgroups', () => {
  let root: string;
  let child: ChildProcess | undefined;
  beforeEach(() => {
    root = `/kubus-test-${process.pid}-${randomBytes(3).toString('hex')}`;
    child = undefined;
  });
  afterEach(async () => {
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    expect(await removeFolders(await cgroupTree(root))).toBeUndefined();
  });

  const file = machine.version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
  const tierFolder = (tier: string) => join(machine.controllers.get('memory') ?? '', root, 'kubepods', tier);
  const limitOf = (tier: string) => Number(readFileSync(join(tierFolder(tier), file), 'utf8')) / MiB;
  const newTree = (percent: bigint, allocatable: number) =>
    new PodCgroupTree({ root, reserve: { percent, allocatable: BigInt(allocatable) } });

  test('that is reserved is not for pods of lower classes', async () => {
    const tree = newTree(50n, 1024 * MiB);
    await tree.ensure(pod('g', { cpu: '1', memory: '256Mi' }, { cpu: '1', memory: '256Mi' }), 'Guaranteed');
    await tree.ensure(pod('b', { memory: '128Mi' }), 'Burstable');
    expect([limitOf('burstable'), limitOf('besteffort')]).toEqual([896, 832]);
    await tree.remove('g');
    expect([limitOf('burstable'), limitOf('besteffort')]).toEqual([1024, 960]);
  });

  (machine.version === 1 ? test : test.skip)(
    'that is used already limits the tier, so that it uses no more',
    async () => {
      const tree = newTree(100n, 1024 * MiB);
      const small = pod('b', { memory: '8Mi' });
      await tree.ensure(small, 'Burstable');
      const procs = join(tierFolder('burstable'), 'podb/cgroup.procs');
      const program =
        'const kept = Buffer.alloc(32 * 1024 ** 2, 1); console.log(kept.length); setInterval(() => kept, 1e6)';
      child = spawn('sh', ['-c', `echo $$ > ${procs} && exec "$0" -e "$1"`, process.execPath, program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      if (child.stdout !== null) await once(child.stdout, 'data');
      const tight = newTree(100n, 16 * MiB);
      await tight.ensure(small, 'Burstable');
      expect(limitOf('burstable')).toBeGreaterThan(32);
      expect(limitOf('burstable')).toBeLessThan(1024);
      expect(existsSync(`/proc/${child.pid}`)).toBe(true);
      expect(limitOf('besteffort')).toBe(8);
    },
  );
});
