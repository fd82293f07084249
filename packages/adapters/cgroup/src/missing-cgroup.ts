import { type CgroupDriver, namedPath } from '@kubus/cgroup-config';
import { toError } from '@kubus/ports';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CgroupMounts } from './hierarchies.ts';

/** The controllers that the node uses (behaviour:qos-and-cgroups). */
const V1 = ['cpu', 'cpuacct', 'cpuset', 'hugetlb', 'memory', 'pids'];
const V2 = ['cpu', 'cpuset', 'hugetlb', 'memory', 'pids'];

/**
 * Why a cgroup that the configuration names cannot be limited, in the reference's words; undefined when it can be: it is missing, or does
 * not have a controller that the machine has.
 *
 * @param name such as `/system.slice`
 */
export async function missingCgroup(
  name: string,
  driver: CgroupDriver,
  { version, controllers, unified = '' }: CgroupMounts,
): Promise<string | undefined> {
  const path = namedPath(name, driver);
  const shown = shownName(path, driver);
  if (version === 1) {
    const folders = V1.flatMap((controller) => controllers.get(controller) ?? []).map((mount) => join(mount, path));
    const missing = [...new Set(folders)].filter((folder) => !existsSync(folder));
    return missing.length === 0 ? undefined : `cgroup ${shown} has some missing paths: ${missing.join(', ')}`;
  }
  const file = join(unified, path, 'cgroup.controllers');
  try {
    const has = new Set((await readFile(file, 'utf8')).trim().split(' '));
    const missing = V2.filter((controller) => controllers.has(controller) && !has.has(controller));
    return missing.length === 0 ? undefined : `cgroup ${shown} has some missing controllers: ${missing.join(', ')}`;
  } catch (error) {
    return `could not read controllers for cgroup ${shown}: ${toError(error).message}`;
  }
}

/** The parts of the name as the reference shows them: `["kube" "reserved"]`. */
function shownName(path: string, driver: CgroupDriver): string {
  const last = path.slice(path.lastIndexOf('/') + 1).replace(/\.slice$/, '');
  const parts =
    driver === 'systemd' ? last.split('-').map((part) => part.replaceAll('_', '-')) : path.split('/').slice(1);
  return `[${parts
    .filter((part) => part !== '')
    .map((part) => `"${part}"`)
    .join(' ')}]`;
}
