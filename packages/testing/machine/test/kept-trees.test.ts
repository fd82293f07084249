// What Kubus decides for cgroups against what the reference kubelet made of the same pods in the guest, kept as data.
import { describe, expect, test } from '@jest/globals';
import { cgroupFiles, cpuWeight, podLimits, podPath, tierPath } from '@kubus/cgroup-config';
import type { Pod } from '@kubus/contracts';
import { qosClass } from '@kubus/pod';
import { readManifest } from '@kubus/pod-source';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { treePods } from '../src/agent.ts';
import type { CgroupSettings } from '../src/cgroup-tree.ts';
import { readKeptTree } from '../src/kept-trees.ts';
import type { Driver } from '../src/runtime-setup.ts';

const NODE = 'kubus-machine';
const CORE = 1024n;
const PAGE_SIZES = [2n * CORE ** 2n, CORE ** 3n];

/** What a cgroup has in which nothing was limited. */
const unlimited: CgroupSettings = {
  'cpu.max': 'max 100000',
  'memory.max': 'max',
  'memory.min': '0',
  'memory.low': '0',
  'memory.high': 'max',
  'memory.swap.max': 'max',
  'memory.oom.group': '0',
  'pids.max': 'max',
  'cpuset.cpus': '',
  'io.weight': 'default 100',
};
/** Says in other words what another file says, or comes from the kernel or systemd by itself. */
const follows = /^(cgroup\.|cpu\.weight\.nice$|cpu\.idle$|cpu\.max\.burst$|cpuset\.(mems|cpus\.)|memory\.swap\.high$)/;
/** Huge pages that are reserved and not yet used. */
const reserved = /^hugetlb\..*\.rsvd\.max$/;

const pods = [...(await treePods())].flatMap(([file, text]) => {
  const origin = { source: 'file', path: `/etc/kubernetes/manifests/${file}`, node: NODE, seenAt: '' } as const;
  const { pods: read, errors } = readManifest({ text, ...origin });
  expect(errors).toEqual([]);
  return read;
});

const kept = readdirSync(join(import.meta.dirname, '../reference')).map((file) => {
  const [, driver = '', containerd = ''] = /^cgroups-(cgroupfs|systemd)-containerd([12])\.json$/.exec(file) ?? [];
  return { file, driver: driver as Driver, containerd: containerd as '1' | '2' };
});

/** The path below /sys/fs/cgroup, with the pod's name in place of its UID as in the data. */
function pathOf({ metadata }: Pod, qos: string, driver: Driver): string {
  const uid = 'uid-of-the-pod';
  const path = podPath({ root: '/', driver }, uid, qos).slice(1);
  return path.replace(driver === 'systemd' ? `pod${uid.replaceAll('-', '_')}` : `pod${uid}`, `pod:${metadata.name}`);
}

/** As the kernel shows them. */
function decided(pod: Pod): Record<string, string> {
  const files = cgroupFiles(podLimits(pod, { hugepageSizes: PAGE_SIZES }), 2);
  return Object.fromEntries(
    files.map(({ file, value }) => [file, file === 'cpu.max' && value === 'max' ? 'max 100000' : value]),
  );
}

/** Unlike weights, shares of v1 can be summed. */
function sharesOf(pod: Pod): bigint {
  const shares = cgroupFiles(podLimits(pod), 1).find(({ file }) => file === 'cpu.shares');
  return BigInt(shares?.value ?? 0);
}

test('there is a tree of the reference for each driver on cgroup v2', () => {
  expect(new Set(kept.map(({ driver }) => driver))).toEqual(new Set(['systemd', 'cgroupfs']));
});

describe.each(kept)('$file', ({ driver, containerd }) => {
  test('has every pod, and all pods together, where Kubus puts them', async () => {
    const { during, after } = await readKeptTree({ driver, containerd });
    const tiers = (['pods', 'burstable', 'besteffort'] as const).map((tier) =>
      tierPath({ root: '/', driver }, tier).slice(1),
    );
    expect(Object.keys(after.cgroups)).toEqual([...tiers].sort());
    const found = Object.keys(during.cgroups).filter((path) => /pod:[^/]*$/.test(path));
    expect(found).toEqual(pods.map((pod) => pathOf(pod, qosClass(pod), driver)).sort());
  });

  test.each(pods.map((pod) => [pod.metadata.name, pod] as const))(
    '%s has the limits that Kubus decides',
    async (_, pod) => {
      const { during } = await readKeptTree({ driver, containerd });
      const settings = during.cgroups[pathOf(pod, qosClass(pod), driver)] ?? {};
      const limits = decided(pod);
      expect(settings).toMatchObject(limits);
      // What Kubus decides nothing about is unlimited there too.
      const others = Object.entries(settings).filter(
        ([file]) => !(file in limits) && !follows.test(file) && !reserved.test(file),
      );
      expect(Object.fromEntries(others)).toEqual(Object.fromEntries(others.map(([file]) => [file, unlimited[file]])));
    },
  );

  test('all burstable pods have the sum of their shares, all pods those of the node', async () => {
    const { during } = await readKeptTree({ driver, containerd });
    const weight = (tier: 'pods' | 'burstable' | 'besteffort') =>
      during.cgroups[tierPath({ root: '/', driver }, tier).slice(1)]?.['cpu.weight'];
    const shares = pods.filter((pod) => qosClass(pod) === 'Burstable').map((pod) => sharesOf(pod));
    expect(weight('burstable')).toBe(String(cpuWeight(shares.reduce((sum, one) => sum + one, 0n))));
    expect(weight('pods')).toBe(String(cpuWeight(BigInt(during.node.cpus) * CORE)));
    expect(weight('besteffort')).toBe(String(cpuWeight(2n)));
  });
});
