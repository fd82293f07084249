import { z } from 'zod';
import {
  type CgroupTree,
  type NamedContainer,
  type NodeFacts,
  type Versions,
  settingsByCgroup,
  withNames,
} from './cgroup-tree.ts';
import type { Guest } from './guest.ts';
import { type RuntimeSetup, runtimePrograms } from './runtime-setup.ts';

/** Files that are settings by their permissions and change by themselves, or say who is in a cgroup. */
const NO_SETTINGS = ['cgroup.procs', 'cgroup.threads', 'cgroup.stat', 'memory.peak', 'memory.swap.peak', '*.pressure'];

const KIB = 1024;

/** What the guest consists of. */
export async function readVersions(guest: Guest, setup: RuntimeSetup): Promise<Versions> {
  const { containerd, runc } = runtimePrograms(setup);
  const lines = await guest.run(
    [
      '. /etc/os-release; echo "$PRETTY_NAME ($(cat /etc/debian_version))"',
      'uname -r',
      'stat -f -c %T /sys/fs/cgroup',
      `${containerd} --version | awk '{print $3}'`,
      `${runc} --version | awk 'NR==1{print $3}'`,
      "nats-server --version | awk '{print $2}'",
      "systemctl --version | awk 'NR==1{print $2}'",
    ].join('; '),
  );
  const [
    distribution = '',
    kernel = '',
    cgroup = '',
    containerdVersion = '',
    runcVersion = '',
    nats = '',
    systemd = '',
  ] = lines.trim().split('\n');
  return {
    distribution,
    kernel,
    cgroup: cgroup === 'cgroup2fs' ? 'v2' : 'v1',
    driver: setup.driver,
    containerd: containerdVersion,
    runc: runcVersion,
    nats,
    systemd,
  };
}

/** The greatest process ID and the number of threads bound how many processes pods may have (behaviour:qos-and-cgroups). */
async function readNodeFacts(guest: Guest): Promise<NodeFacts> {
  const text = await guest.run(
    "nproc; awk '/^MemTotal/{print $2}' /proc/meminfo; cat /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max",
  );
  const [cpus = NaN, memoryKiB = NaN, pids = NaN, threads = NaN] = text.trim().split('\n').map(Number);
  return { cpus, memory: memoryKiB * KIB, pids, threads };
}

const ociConfig = z.object({ annotations: z.record(z.string(), z.string()).optional() });

/** What the runtime runs, by the OCI configurations that it keeps for what runs. */
async function readContainers(guest: Guest): Promise<NamedContainer[]> {
  const folder = '/run/containerd/io.containerd.runtime.v2.task/k8s.io';
  const text = await guest.run(
    `cd ${folder} 2>/dev/null || exit 0; for id in *; do [ -e "$id/config.json" ] || continue; printf '%s ' "$id"; tr -d '\\n' <"$id/config.json"; echo; done`,
  );
  return text
    .split('\n')
    .filter((line) => line.includes(' '))
    .map((line) => {
      const id = line.slice(0, line.indexOf(' '));
      const { annotations = {} } = ociConfig.parse(JSON.parse(line.slice(id.length + 1)));
      const of = (name: string) => annotations[`io.kubernetes.cri.${name}`];
      return {
        id,
        pod: of('sandbox-name') ?? '',
        podUid: of('sandbox-uid') ?? '',
        container: of('container-type') === 'sandbox' ? undefined : of('container-name'),
      };
    });
}

/** Which containers and sandboxes run, with their ids: a line each. */
export async function containerIds(guest: Guest): Promise<string> {
  const containers = await readContainers(guest);
  return containers
    .map(({ id, pod, container = 'sandbox' }) => `${pod}/${container}=${id}`)
    .sort()
    .join('\n');
}

/** Where the pods' cgroups lie below the mount, with either driver. */
const PODS_ROOT = { systemd: 'kubepods.slice', cgroupfs: 'kubepods' } as const;

/** The pods' cgroups with every setting of each, and with the driver systemd the properties of their units. */
export async function readTree(guest: Guest, setup: RuntimeSetup, agent: string): Promise<CgroupTree> {
  const root = PODS_ROOT[setup.driver];
  const without = NO_SETTINGS.map((name) => `! -name '${name}'`).join(' ');
  const settings = await guest.run(
    `cd /sys/fs/cgroup && find ${root} -type f -perm -u=rw ${without} -exec grep -sH '' {} + || true`,
  );
  const containers = await readContainers(guest);
  const named = (path: string) => withNames(path, containers);
  const cgroups = [...settingsByCgroup(settings)].map(([path, files]) => [named(path), sorted(files)] as const);
  return {
    agent,
    date: new Date().toISOString().slice(0, 10),
    versions: await readVersions(guest, setup),
    node: await readNodeFacts(guest),
    cgroups: sorted(Object.fromEntries(cgroups)),
    units: setup.driver === 'systemd' ? await readUnits(guest, named) : {},
  };
}

/** What the reference asks of systemd for a slice, and what a scope of the runtime has. */
const PROPERTIES = [
  ...[
    'Slice',
    'Delegate',
    'CPUAccounting',
    'MemoryAccounting',
    'TasksAccounting',
    'IOAccounting',
    'DefaultDependencies',
  ],
  ...['CPUWeight', 'CPUQuotaPerSecUSec', 'CPUQuotaPeriodUSec', 'MemoryMax', 'MemoryMin', 'MemoryLow', 'MemoryHigh'],
  ...['MemorySwapMax', 'TasksMax', 'AllowedCPUs', 'AllowedMemoryNodes'],
];

async function readUnits(guest: Guest, named: (path: string) => string): Promise<CgroupTree['units']> {
  const text = await guest.run(
    `systemctl show 'kubepods*.slice' 'cri-containerd-*.scope' --property=Id,${PROPERTIES.join(',')}`,
  );
  const units = text.split(/\n\n+/).flatMap((block) => {
    const properties = Object.fromEntries(
      block
        .trim()
        .split('\n')
        .filter((line) => line.includes('='))
        .map((line) => [line.slice(0, line.indexOf('=')), named(line.slice(line.indexOf('=') + 1))] as const),
    );
    const { Id: id, ...rest } = properties;
    if (id === undefined) return [];
    // A scope is named after its container alone: the slice says which pod's it is.
    const name = id.endsWith('.scope') ? `${rest.Slice ?? ''}/${id}` : id;
    return [[name, sorted(rest)] as const];
  });
  return sorted(Object.fromEntries(units));
}

function sorted<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
