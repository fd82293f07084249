import type { TestSystemd } from '@kubus/systemd-fixture';
import type { CgroupMounts } from '../src/index.ts';

/** The hierarchy of cgroup v2 in which the tests' systemd makes its slices. */
export function sliceMounts({ cgroups }: Pick<TestSystemd, 'cgroups'>): CgroupMounts {
  const controllers = new Map(['cpu', 'cpuset', 'memory', 'pids'].map((name) => [name, cgroups]));
  return { version: 2, controllers, unified: cgroups };
}
