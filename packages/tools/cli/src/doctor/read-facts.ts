import { cgroupHierarchies, cgroupMounts } from '@kubus/cgroup';
import { bridgesOfNodes, bridgeOf, findCniPlugins, findContainerd, listNodes, nodeDir } from '@kubus/launcher';
import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { readFile, readdir, statfs } from 'node:fs/promises';
import { arch, platform, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { checkout } from '../nats-option.ts';
import type { MachineFacts } from './checks.ts';

/** How long a program may take to answer, in milliseconds. */
const ANSWER_MS = 2_000;

/** The cgroup of a node; a name with other characters would not be safe in a command to copy. */
const NODE_CGROUP = /^kubus-[a-z0-9.-]+$/;

/** Also when this program runs in a node's network. */
const MACHINE_NETWORK = '/proc/1/net';

/** The programs that `./kubus` installs, with their Debian packages. */
const PROGRAMS: readonly (readonly [name: string, from: string])[] = [
  ['runc', 'runc'],
  ['ip', 'iproute2'],
  ['iptables', 'iptables'],
  ['nsenter', 'util-linux'],
  ['mount', 'mount'],
  ['gcc', 'gcc'],
];

/** Looks at the machine. Changes nothing. */
export async function readFacts(): Promise<MachineFacts> {
  const [containerd, cniPlugins, nodes, cgroups, disks, isSynchronised] = await Promise.all([
    findContainerd().then(
      ({ version }) => version,
      () => undefined,
    ),
    findCniPlugins().catch(() => undefined),
    listNodes().catch(() => []),
    readCgroups(),
    Promise.all([dirname(nodeDir('node0').root), checkout].map(diskAt)),
    readSynchronised(),
  ]);
  const names = new Set(nodes.map(({ dir }) => dir.cgroupRoot));
  const bridges = new Set(nodes.map(({ dir }) => bridgeOf(dir.node)));
  return {
    isRoot: process.getuid?.() === 0,
    platform: platform(),
    architecture: arch(),
    kernel: release(),
    memoryBytes: totalmem(),
    fileSystems: (await read('/proc/filesystems')).split('\n').map((line) => line.replace(/^\S*\s+/, '')),
    disks,
    ...cgroups,
    programs: PROGRAMS.map(([name, from]) => ({ name, package: from, isFound: isOnPath(name) })),
    ...{ containerd, cniPlugins },
    inotifyInstances: Number(await read('/proc/sys/fs/inotify/max_user_instances')),
    ports: [...listening(await read(`${MACHINE_NETWORK}/tcp`)), ...listening(await read(`${MACHINE_NETWORK}/tcp6`))],
    clock: { now: Date.now(), built: statSync(process.argv[1] ?? checkout).mtimeMs, isSynchronised },
    nodes: nodes.map(({ dir, state }) => ({ name: dir.node, state })),
    emptyCgroups: await emptyCgroups(names),
    leftBridges: (await bridgesOfNodes()).filter((name) => !bridges.has(name)),
  };
}

async function read(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => folder !== '' && existsSync(join(folder, program)));
}

/** Of the file system of a folder that may still have to be created. */
async function diskAt(path: string): Promise<MachineFacts['disks'][number]> {
  if (!existsSync(path) && dirname(path) !== path) return { ...(await diskAt(dirname(path))), path };
  const { bavail, bsize, files, ffree } = await statfs(path);
  return { path, freeBytes: bavail * bsize, freeFiles: files === 0 ? undefined : ffree };
}

async function readCgroups(): Promise<Pick<MachineFacts, 'cgroupVersion' | 'cgroupControllers'>> {
  const mounts = await cgroupMounts().catch(() => undefined);
  return mounts === undefined
    ? { cgroupVersion: 0, cgroupControllers: [] }
    : { cgroupVersion: mounts.version, cgroupControllers: [...mounts.controllers.keys()] };
}

/** The local ports of the lines in state LISTEN (0A) of /proc/net/tcp, see proc(5). */
export function listening(table: string): number[] {
  return table.split('\n').flatMap((line) => {
    const [, port, state] = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2})/.exec(line) ?? [];
    return port !== undefined && state === '0A' ? [Number.parseInt(port, 16)] : [];
  });
}

/** Undefined where systemd does not run the machine. */
async function readSynchronised(): Promise<boolean | undefined> {
  const command = promisify(execFile)('timedatectl', ['show', '-p', 'NTPSynchronized', '--value'], {
    timeout: ANSWER_MS,
  });
  const answer = await command.then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
  return answer === '' ? undefined : answer === 'yes';
}

/** Names of cgroups as nodes have them, other than the known ones, in which no process runs in any hierarchy. */
async function emptyCgroups(known: ReadonlySet<string>): Promise<string[]> {
  const hierarchies = await cgroupHierarchies().catch(() => []);
  const used = new Map<string, boolean>();
  for (const hierarchy of hierarchies) {
    const names = (await readdir(hierarchy).catch(() => [])).filter((name) => NODE_CGROUP.test(name));
    for (const name of names.filter((one) => !known.has(`/${one}`))) {
      used.set(name, used.get(name) === true || (await hasProcesses(join(hierarchy, name))));
    }
  }
  return [...used].flatMap(([name, isUsed]) => (isUsed ? [] : [name])).sort();
}

async function hasProcesses(folder: string): Promise<boolean> {
  if ((await read(join(folder, 'cgroup.procs'))).trim() !== '') return true;
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const below = await Promise.all(
    entries.filter((entry) => entry.isDirectory()).map(({ name }) => hasProcesses(join(folder, name))),
  );
  return below.includes(true);
}
