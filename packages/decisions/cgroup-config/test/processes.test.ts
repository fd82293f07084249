import { expect, test } from '@jest/globals';
import { cgroupOfProcess } from '../src/index.ts';

const service = '/system.slice/kubelet.service';

test.each<[string, string, 1 | 2, string | undefined]>([
  ['cgroup v2', `0::${service}\n`, 2, service],
  ['a path with a colon', '0::/a:b\n', 2, '/a:b'],
  ['cgroup v1', `4:memory:${service}\n3:cpu,cpuacct:${service}\n1:name=systemd:${service}\n0::/\n`, 1, service],
  ['cgroup v1 without systemd', '4:memory:/a\n1:cpu:/a\n0::/\n', 1, '/a'],
  ['systemd without accounting', `4:memory:/\n3:cpu,cpuacct:/\n1:name=systemd:${service}\n`, 1, service],
  ['different cgroups of v1', '4:memory:/a\n1:cpu:/b\n', 1, undefined],
  ['cgroup v1 without memory', '1:cpu:/b\n', 1, undefined],
  ['nothing', '', 2, undefined],
])('the cgroup of a process with %s', (_, text, version, expected) => {
  expect(cgroupOfProcess(text, version)).toBe(expected);
});
