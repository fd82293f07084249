/** What is known of the machine. */
export interface MachineFacts {
  readonly isRoot: boolean;
  readonly platform: string;
  /** As Node.js names it: `x64`, `arm64`. */
  readonly architecture: string;
  /** As uname(1) prints it: `6.1.0-25-amd64`. */
  readonly kernel: string;
  readonly memoryBytes: number;
  /** File systems that the kernel knows, such as `overlay`. */
  readonly fileSystems: readonly string[];
  /** Free space where nodes and the checkout are; `freeFiles`: free inodes, 0 where the file system does not count them. */
  readonly disks: readonly {
    readonly path: string;
    readonly freeBytes: number;
    readonly freeFiles: number | undefined;
  }[];
  /** 0: there is no cgroup file system. */
  readonly cgroupVersion: 0 | 1 | 2;
  readonly cgroupControllers: readonly string[];
  /** Programs that a node needs, and the package of each. */
  readonly programs: readonly { readonly name: string; readonly package: string; readonly isFound: boolean }[];
  readonly containerd: string | undefined;
  readonly cniPlugins: string | undefined;
  /** fs.inotify.max_user_instances */
  readonly inotifyInstances: number;
  /** TCP ports on which a process of the machine listens. */
  readonly ports: readonly number[];
  readonly clock: {
    /** Milliseconds since the Unix epoch. */
    readonly now: number;
    /** When this program was built. */
    readonly built: number;
    /** Undefined: nothing on the machine says so. */
    readonly isSynchronised: boolean | undefined;
  };
  /** Nodes whose folders are here, with their states (`kubus ls`). */
  readonly nodes: readonly { readonly name: string; readonly state: string }[];
  /** Names of cgroups of nodes, such as `kubus-node0`, in which no process runs and of which no node is known. */
  readonly emptyCgroups: readonly string[];
  /** Bridges of nodes with `--network host`, such as `kubus-node0`, that are here, or whose firewall rules are, and of which no node is known. */
  readonly leftBridges: readonly string[];
}

/** `warning`: a node works, but not all of it. `problem`: a node cannot be started, or something is left of one. */
type Verdict = 'ok' | 'warning' | 'problem';

/** The result of a check. */
export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  readonly message: string;
  /** What to do about it. */
  readonly fix?: string;
}

const GIB = 1024 ** 3;
const MIN_KERNEL = [5, 10] as const;
const MIN_MEMORY = 2 * GIB;
const MIN_DISK = 3 * GIB;
const MIN_FILES = 100_000;
/** Each node watches with some dozens of them. */
const MIN_INOTIFY = 128;
const CONTROLLERS = ['cpu', 'memory', 'pids', 'cpuset'];
/** The ports of the kubelet's API and of its health check, which `kubus kubelet` uses, too. */
const KUBELET_PORTS = [10_250, 10_248];
/** A clock may differ from that of the machine that built the program, in milliseconds. */
const CLOCK_TOLERANCE = 60 * 60 * 1000;

/** What is not as a node needs it, with how to fix each; the same checks in the same order for every machine. */
export function checkMachine(facts: MachineFacts): Finding[] {
  return [
    checkSystem(facts),
    checkKernel(facts),
    checkMemory(facts),
    ...facts.disks.map(checkDisk),
    checkCgroups(facts),
    checkPrograms(facts),
    checkRuntime(facts),
    checkLimits(facts),
    checkPorts(facts),
    checkClock(facts),
    ...checkNodes(facts),
    ...checkLeft(facts),
    ...checkLeftNetworks(facts),
  ];
}

function finding(check: string, verdict: Verdict, message: string, fix?: string): Finding {
  return { check, verdict, message, ...(fix !== undefined && { fix }) };
}

function checkSystem({ isRoot, platform, architecture }: MachineFacts): Finding {
  const what = `${platform} on ${architecture}${isRoot ? ', as root' : ''}`;
  if (platform !== 'linux') return finding('machine', 'problem', what, 'use a Linux machine, such as Debian 12');
  if (architecture !== 'x64' && architecture !== 'arm64') {
    return finding('machine', 'problem', what, 'use a machine with x86_64 or arm64');
  }
  if (!isRoot) return finding('machine', 'problem', `${what}, not as root`, 'run the command with sudo');
  return finding('machine', 'ok', what);
}

function checkKernel({ kernel, fileSystems }: MachineFacts): Finding {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  if (major < MIN_KERNEL[0] || (major === MIN_KERNEL[0] && minor < MIN_KERNEL[1])) {
    const fix = `use a kernel of at least ${MIN_KERNEL.join('.')}`;
    return finding('kernel', 'problem', `Linux ${kernel} is too old`, fix);
  }
  if (!fileSystems.includes('overlay')) {
    const message = `Linux ${kernel} does not know the file system overlay, which containers need`;
    return finding('kernel', 'problem', message, 'modprobe overlay');
  }
  return finding('kernel', 'ok', `Linux ${kernel} with overlay`);
}

function checkMemory({ memoryBytes }: MachineFacts): Finding {
  const message = `${(memoryBytes / GIB).toFixed(1)} GiB`;
  // What the kernel keeps for itself is not counted.
  if (memoryBytes >= MIN_MEMORY * 0.9) return finding('memory', 'ok', message);
  const fix = 'give the machine 2 GiB, or start the node with "./kubus up --placement hosted"';
  return finding('memory', 'warning', `${message} is less than a node wants`, fix);
}

function checkDisk({ path, freeBytes, freeFiles }: MachineFacts['disks'][number]): Finding {
  const message = `${(freeBytes / GIB).toFixed(1)} GiB are free at ${path}`;
  if (freeBytes < MIN_DISK) return finding('disk', 'problem', message, 'free at least 3 GiB there');
  if (freeFiles !== undefined && freeFiles < MIN_FILES) {
    return finding('disk', 'warning', `${message}, but only ${freeFiles} files can be made`, 'remove files there');
  }
  return finding('disk', 'ok', message);
}

function checkCgroups({ cgroupVersion, cgroupControllers }: MachineFacts): Finding {
  if (cgroupVersion === 0) {
    const fix = 'mount -t cgroup2 none /sys/fs/cgroup, or boot with systemd';
    return finding('cgroups', 'problem', 'no cgroup file system is mounted at /sys/fs/cgroup', fix);
  }
  const missing = CONTROLLERS.filter((name) => !cgroupControllers.includes(name));
  const message = `cgroup v${cgroupVersion}`;
  if (missing.length === 0) return finding('cgroups', 'ok', `${message} with ${CONTROLLERS.join(', ')}`);
  const fix =
    cgroupVersion === 2
      ? 'boot without cgroup_disable= of these on the kernel’s command line'
      : 'mount these controllers, or boot without cgroup_disable= of these';
  return finding('cgroups', 'problem', `${message} without the controllers ${missing.join(', ')}`, fix);
}

function checkPrograms({ programs }: MachineFacts): Finding {
  const missing = programs.filter(({ isFound }) => !isFound);
  if (missing.length === 0) return finding('programs', 'ok', programs.map(({ name }) => name).join(', '));
  const packages = [...new Set(missing.map((one) => one.package))].join(' ');
  const message = `${missing.map(({ name }) => name).join(', ')} are missing`;
  return finding('programs', 'problem', message, `apt-get install ${packages} ("./kubus up" does it)`);
}

function checkRuntime({ containerd, cniPlugins }: MachineFacts): Finding {
  if (containerd === undefined) {
    const fix = '"./kubus up" fetches it, or name one with "./kubus up --containerd PATH"';
    return finding('runtime', 'problem', 'containerd is missing', fix);
  }
  if (cniPlugins === undefined) {
    const message = `containerd ${containerd}, but no CNI plugins`;
    return finding('runtime', 'problem', message, 'apt-get install containernetworking-plugins');
  }
  return finding('runtime', 'ok', `containerd ${containerd}, CNI plugins in ${cniPlugins}`);
}

function checkLimits({ inotifyInstances }: MachineFacts): Finding {
  const message = `fs.inotify.max_user_instances is ${inotifyInstances}`;
  if (inotifyInstances >= MIN_INOTIFY) return finding('limits', 'ok', message);
  return finding('limits', 'warning', `${message}, which is little`, 'sysctl -w fs.inotify.max_user_instances=1024');
}

/** A private node listens in its own network only. */
function checkPorts({ ports }: MachineFacts): Finding {
  const taken = KUBELET_PORTS.filter((port) => ports.includes(port));
  if (taken.length === 0) return finding('ports', 'ok', `${KUBELET_PORTS.join(' and ')} are free`);
  const message = `${taken.join(' and ')} are taken, as by a kubelet: "kubus kubelet" could not be started; private nodes do not need them`;
  return finding(
    'ports',
    'warning',
    message,
    'to run instead of the kubelet, stop it first: docs/tasks/instead-of-a-kubelet.md',
  );
}

function checkClock({ clock }: MachineFacts): Finding {
  const time = new Date(clock.now).toISOString();
  if (clock.now < clock.built - CLOCK_TOLERANCE) {
    const message = `${time} is before this program was built (${new Date(clock.built).toISOString()})`;
    return finding('clock', 'problem', message, 'set the clock, and have it synchronised (systemd-timesyncd, chrony)');
  }
  if (clock.isSynchronised === false) {
    const fix = 'timedatectl set-ntp true';
    return finding('clock', 'warning', `${time}, and it is not synchronised: certificates and leases may fail`, fix);
  }
  const how = clock.isSynchronised === true ? 'synchronised' : 'nothing here says whether it is synchronised';
  return finding('clock', 'ok', `${time}, ${how}`);
}

function checkNodes({ nodes }: MachineFacts): Finding[] {
  const running = nodes.filter(({ state }) => state === 'Running' || state === 'Containers');
  const others = nodes.filter((node) => !running.includes(node));
  const names = running.map(({ name }) => name).join(', ');
  return [
    finding('nodes', 'ok', running.length === 0 ? 'no node is running' : `running: ${names}`),
    ...others.map(({ name, state }) => {
      const up = `"./kubus --node ${name} up" starts it again`;
      const down = `"./kubus --node ${name} down" removes what is left`;
      const fix = state === 'Incomplete' ? down : `${up}, ${down}`;
      return finding('nodes', 'problem', `node ${name} is not running (${MEANINGS[state] ?? state})`, fix);
    }),
  ];
}

const MEANINGS: Readonly<Record<string, string>> = {
  NoLauncher: 'its launcher has ended, other processes of it run',
  Stopped: 'none of its processes runs, as after a restart of the machine',
  Incomplete: 'its start was cut off',
};

function checkLeft({ emptyCgroups }: MachineFacts): Finding[] {
  if (emptyCgroups.length === 0) return [];
  const message = `of nodes that are not here any more cgroups are left: ${emptyCgroups.join(', ')}`;
  const pattern = `.*/\\(${emptyCgroups.join('\\|')}\\)\\(/.*\\)?`;
  return [
    finding('leftovers', 'warning', message, `find /sys/fs/cgroup -depth -type d -regex '${pattern}' -exec rmdir {} +`),
  ];
}

function checkLeftNetworks({ leftBridges }: MachineFacts): Finding[] {
  return leftBridges.map((name) => {
    const message = `of a node that is not here any more the bridge ${name} or its firewall rules are left`;
    // The name ends with a space, or with a quotation mark that iptables-save escapes.
    const rules = `iptables-save | grep -v '${name}[ \\]' | iptables-restore`;
    return finding('leftovers', 'warning', message, `ip link delete ${name}; ${rules}`);
  });
}
