import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type TreeDifference, cgroupTree } from './cgroup-tree.ts';
import type { RuntimeSetup } from './runtime-setup.ts';

/** The reference's cgroups while the pods run, and after they are removed. */
const keptTrees = z.strictObject({ during: cgroupTree, after: cgroupTree });
export type KeptTrees = z.infer<typeof keptTrees>;

const folder = join(import.meta.dirname, '../reference');

function fileOf({ driver, containerd }: RuntimeSetup): string {
  return join(folder, `cgroups-${driver}-containerd${containerd}.json`);
}

/** What the reference kubelet made of the package's pods in the guest, as data. */
export async function readKeptTree(setup: RuntimeSetup): Promise<KeptTrees> {
  return keptTrees.parse(JSON.parse(await readFile(fileOf(setup), 'utf8')));
}

export async function writeKeptTree(trees: KeptTrees): Promise<void> {
  const { driver, containerd } = trees.during.versions;
  const setup = {
    driver: driver === 'systemd' ? 'systemd' : 'cgroupfs',
    containerd: containerd.startsWith('2') ? '2' : '1',
  } as const;
  await writeFile(fileOf(setup), `${JSON.stringify(trees, null, 2)}\n`);
}

/** A difference to the reference's tree that is meant, and why. */
interface Reason {
  readonly covers: (difference: TreeDifference, setup: RuntimeSetup) => boolean;
  readonly reason: string;
}

/** Every one of them is listed in docs/machines.md. */
const reasons: readonly Reason[] = [
  {
    reason: 'the controller cpuset stays handed down to the classes after their last pod',
    covers: ({ cgroup, file, expected, found }, { driver }) => {
      if (driver !== 'systemd' || file === undefined) return false;
      if (cgroup === 'kubepods.slice') return file === 'cgroup.subtree_control' && found === `cpuset ${expected ?? ''}`;
      const isClass = /^kubepods\.slice\/kubepods-(burstable|besteffort)\.slice$/.test(cgroup);
      return isClass && file.startsWith('cpuset.') && expected === undefined && (found === '' || found === 'member');
    },
  },
];

/** Why a difference is meant; undefined when it is not. */
export function reasonFor(difference: TreeDifference, setup: RuntimeSetup): string | undefined {
  return reasons.find(({ covers }) => covers(difference, setup))?.reason;
}
