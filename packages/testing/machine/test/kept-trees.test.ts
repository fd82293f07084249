// What Kubus decides for cgroups against what the reference kubelet made of the same pods in the guest, kept as data.
import { describe, expect, test } from '@jest/globals';
import {
  type CgroupLimits,
  type CgroupTier,
  type UnitProperty,
  allPodsLimits,
  cgroupFiles,
  limitProperties,
  podLimits,
  podMilliCpu,
  podPath,
  sliceProperties,
  tierLimits,
  tierPath,
  unitOf,
} from '@kubus/cgroup-config';
import type { Pod } from '@kubus/contracts';
import { qosClass } from '@kubus/pod';
import { readManifest } from '@kubus/pod-source';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { treePods } from '../src/agent.ts';
import type { CgroupSettings, CgroupTree } from '../src/cgroup-tree.ts';
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

const tiers = ['pods', 'burstable', 'besteffort'] as const;

/** What the cgroup of a tier is to have while these pods run on that machine. */
function ofTier(tier: CgroupTier, running: readonly Pod[], { node }: CgroupTree): CgroupLimits {
  const hugepageSizes = PAGE_SIZES;
  if (tier !== 'pods') {
    const burstable = running.filter((pod) => qosClass(pod) === 'Burstable').map((pod) => podMilliCpu(pod));
    const sum = burstable.reduce((total, one) => total + one, 0n);
    return tierLimits(tier, sum, hugepageSizes);
  }
  const capacity = {
    cpu: String(node.cpus),
    memory: String(node.memory),
    pid: String(Math.min(node.pids, node.threads)),
  };
  return allPodsLimits(capacity, { hugepageSizes, cpus: [...Array(node.cpus).keys()] });
}

/** As the kernel shows them. */
function shown(limits: CgroupLimits): Record<string, string> {
  return Object.fromEntries(
    cgroupFiles(limits, 2).map(({ file, value }) => [
      file,
      file === 'cpu.max' && value === 'max' ? 'max 100000' : value,
    ]),
  );
}

const INFINITY = 2n ** 64n - 1n;

/** As `systemctl show` shows it. */
function shownProperty([name, , value]: UnitProperty): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (value instanceof Uint8Array) {
    return Array.from({ length: value.length * 8 }, (_, cpu) => cpu)
      .filter((cpu) => ((value[cpu >> 3] ?? 0) >> (cpu & 7)) & 1)
      .join(' ');
  }
  if (value === INFINITY) return 'infinity';
  return name.endsWith('USec') ? `${Number(value) / 1000}ms` : String(value);
}

test('there is a tree of the reference for each driver on cgroup v2', () => {
  expect(new Set(kept.map(({ driver }) => driver))).toEqual(new Set(['systemd', 'cgroupfs']));
});

describe.each(kept)('$file', ({ driver, containerd }) => {
  test('has every pod, and all pods together, where Kubus puts them', async () => {
    const { during, after } = await readKeptTree({ driver, containerd });
    const above = tiers.map((tier) => tierPath({ root: '/', driver }, tier).slice(1));
    expect(Object.keys(after.cgroups)).toEqual(above.sort());
    const found = Object.keys(during.cgroups).filter((path) => /pod:[^/]*$/.test(path));
    expect(found).toEqual(pods.map((pod) => pathOf(pod, qosClass(pod), driver)).sort());
  });

  test.each(pods.map((pod) => [pod.metadata.name, pod] as const))(
    '%s has the limits that Kubus decides',
    async (_, pod) => {
      const { during } = await readKeptTree({ driver, containerd });
      const settings = during.cgroups[pathOf(pod, qosClass(pod), driver)] ?? {};
      const limits = shown(podLimits(pod, { hugepageSizes: PAGE_SIZES }));
      expect(settings).toMatchObject(limits);
      // What Kubus decides nothing about is unlimited there too.
      const others = Object.entries(settings).filter(
        ([file]) => !(file in limits) && !follows.test(file) && !reserved.test(file),
      );
      expect(Object.fromEntries(others)).toEqual(Object.fromEntries(others.map(([file]) => [file, unlimited[file]])));
    },
  );

  test.each(tiers)('%s has the limits that Kubus decides', async (tier) => {
    const { during, after } = await readKeptTree({ driver, containerd });
    const path = tierPath({ root: '/', driver }, tier).slice(1);
    expect(during.cgroups[path]).toMatchObject(shown(ofTier(tier, pods, during)));
    expect(after.cgroups[path]).toMatchObject(shown(ofTier(tier, [], after)));
  });
});

test.each(kept.filter(({ driver }) => driver === 'systemd'))(
  '$file: units have the properties that Kubus gives them',
  async ({ driver, containerd }) => {
    const { during } = await readKeptTree({ driver, containerd });
    const slices = [
      ...tiers.map((tier) => [tierPath({ root: '/', driver }, tier), ofTier(tier, pods, during)] as const),
      ...pods.map((pod) => [pathOf(pod, qosClass(pod), driver), podLimits(pod)] as const),
    ];
    for (const [path, limits] of slices) {
      const properties = [...sliceProperties(path, 2), ...limitProperties(limits, 2)];
      const listed = properties.filter(([name]) => name !== 'Description' && name !== 'Wants');
      expect(during.units[unitOf(path)]).toMatchObject(
        Object.fromEntries(listed.map((property) => [property[0], shownProperty(property)])),
      );
    }
  },
);
