import { describe, expect, test } from '@jest/globals';
import { type MachineFacts, checkMachine } from './checks.ts';
import { listening } from './read-facts.ts';

const NOW = Date.UTC(2030, 0, 1);
const GIB = 1024 ** 3;

const good: MachineFacts = {
  ...{ isRoot: true, platform: 'linux', architecture: 'x64', kernel: '6.1.0-25-amd64', memoryBytes: 4 * GIB },
  fileSystems: ['proc', 'overlay'],
  disks: [{ path: '/var/lib/kubus', freeBytes: 10 * GIB, freeFiles: 1_000_000 }],
  cgroupVersion: 2,
  cgroupControllers: ['cpuset', 'cpu', 'io', 'memory', 'pids'],
  programs: [{ name: 'runc', package: 'runc', isFound: true }],
  ...{ containerd: '2.1.0', cniPlugins: '/usr/lib/cni', inotifyInstances: 1024, ports: [22] },
  clock: { now: NOW, built: NOW - 1000, isSynchronised: true },
  ...{ nodes: [{ name: 'node0', state: 'Running' }], emptyCgroups: [], leftBridges: [] },
};

test('a machine that is as it should be has no finding to fix', () => {
  const findings = checkMachine(good);
  expect(findings.map(({ verdict }) => verdict)).toEqual(findings.map(() => 'ok'));
  expect(findings.map(({ check }) => check)).toEqual([
    ...['machine', 'kernel', 'memory', 'disk', 'cgroups', 'programs', 'runtime', 'limits', 'ports', 'clock', 'nodes'],
  ]);
  expect(findings.every(({ fix }) => fix === undefined)).toBe(true);
});

describe('what is wrong is named with how to fix it', () => {
  test.each<[string, Partial<MachineFacts>, string, RegExp, RegExp]>([
    ['no Linux', { platform: 'darwin' }, 'problem', /darwin/, /Linux machine/],
    ['another processor', { architecture: 'ppc64' }, 'problem', /ppc64/, /x86_64 or arm64/],
    ['no root', { isRoot: false }, 'problem', /not as root/, /sudo/],
    ['an old kernel', { kernel: '5.4.0' }, 'problem', /5\.4\.0 is too old/, /5\.10/],
    ['an older kernel', { kernel: '4.19.0' }, 'problem', /too old/, /5\.10/],
    ['no overlay', { fileSystems: [] }, 'problem', /overlay/, /modprobe overlay/],
    ['little memory', { memoryBytes: GIB }, 'warning', /1\.0 GiB/, /--placement hosted/],
    ['a full disk', { disks: [{ path: '/d', freeBytes: GIB, freeFiles: 1e6 }] }, 'problem', /1\.0 GiB .* \/d/, /3 GiB/],
    ['no inodes', { disks: [{ path: '/d', freeBytes: 9 * GIB, freeFiles: 5 }] }, 'warning', /only 5 files/, /remove/],
    ['no cgroups', { cgroupVersion: 0 }, 'problem', /no cgroup file system/, /mount -t cgroup2/],
    [
      'no memory controller',
      { cgroupControllers: ['cpu', 'cpuset', 'pids'] },
      'problem',
      /without .* memory/,
      /cgroup_disable/,
    ],
    [
      'no program',
      { programs: [{ name: 'ip', package: 'iproute2', isFound: false }] },
      'problem',
      /ip are/,
      /iproute2/,
    ],
    ['no containerd', { containerd: undefined }, 'problem', /containerd is missing/, /--containerd/],
    ['no CNI plugins', { cniPlugins: undefined }, 'problem', /no CNI plugins/, /containernetworking-plugins/],
    ['few inotify instances', { inotifyInstances: 64 }, 'warning', /64/, /sysctl/],
    ['a kubelet', { ports: [10250] }, 'warning', /10250 are taken/, /stop it first/],
    ['a clock that was reset', { clock: { ...good.clock, now: 0 } }, 'problem', /1970/, /set the clock/],
    [
      'a clock that is not synchronised',
      { clock: { ...good.clock, isSynchronised: false } },
      'warning',
      /not sync/,
      /set-ntp/,
    ],
    [
      'a stopped node',
      { nodes: [{ name: 'a', state: 'Stopped' }] },
      'problem',
      /node a .*restart of the machine/,
      /--node a up/,
    ],
    [
      'a crashed node',
      { nodes: [{ name: 'a', state: 'NoLauncher' }] },
      'problem',
      /launcher has ended/,
      /--node a down/,
    ],
    ['half a node', { nodes: [{ name: 'a', state: 'Incomplete' }] }, 'problem', /cut off/, /--node a down/],
    [
      'a left cgroup',
      { emptyCgroups: ['kubus-a', 'kubus-b'] },
      'warning',
      /left: kubus-a, kubus-b/,
      /-regex '\.\*\/\\\(kubus-a\\\|kubus-b\\\)/,
    ],
    [
      'a left bridge',
      { leftBridges: ['kubus-a'] },
      'warning',
      /bridge kubus-a .*are left/,
      /^ip link delete kubus-a; iptables-save \| grep -v 'kubus-a\[ \\\]' \| iptables-restore$/,
    ],
  ])('%s', (_, change, verdict, message, fix) => {
    const wrong = checkMachine({ ...good, ...change }).filter((one) => one.verdict !== 'ok');
    expect(wrong).toEqual([
      expect.objectContaining({ verdict, message: expect.stringMatching(message), fix: expect.stringMatching(fix) }),
    ]);
  });
});

test('a machine that does not say whether its clock is synchronised is no warning', () => {
  const clock = { ...good.clock, isSynchronised: undefined };
  expect(checkMachine({ ...good, clock }).every(({ verdict }) => verdict === 'ok')).toBe(true);
});

test('the ports on which something listens are read from the table of the kernel', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0',
    '   1: 0100007F:0016 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1',
    '   2: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 0',
  ].join('\n');
  expect(listening(table)).toEqual([10250, 8080]);
});
