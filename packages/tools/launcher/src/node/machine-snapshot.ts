import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cgroupTree } from '@kubus/cgroup';
import { listMounts } from '@kubus/filesystem';
import { type Command, runCommand } from '../processes/command.ts';
import { LauncherError } from '../errors.ts';
import { inNetworkNamespace } from '../network/network-namespace.ts';
import { nodeMark } from '../processes/process-record.ts';

/** The aspects of a machine that are compared, each as sorted lines of text. */
const aspects = ['processes', 'mounts', 'network namespaces', 'links', 'cgroups', 'firewall rules', 'files'] as const;
/** One of {@link aspects}. */
type Aspect = (typeof aspects)[number];

/** Everything a node could leave behind on a machine, at one moment. */
export type MachineSnapshot = Readonly<Record<Aspect, readonly string[]>>;

/** What a snapshot contains. */
export interface SnapshotOptions {
  /** Folders whose files are listed recursively. Default: {@link watchedFolders}. */
  readonly folders?: readonly string[];
  /** Files on which further network namespaces are mounted, whose links and firewall rules are listed too. Default: none. */
  readonly networkNamespaces?: readonly string[];
  /** Keep only lines that contain one of these texts, for machines on which other things change. Default: keep all. */
  readonly about?: readonly string[];
}

/** A line that two snapshots do not share. */
export interface SnapshotDifference {
  readonly aspect: Aspect;
  readonly change: 'added' | 'removed';
  readonly entry: string;
}

/** The folders in which a node, its runtime and CNI create files. */
export const watchedFolders = [
  '/run',
  '/var/lib/kubus',
  '/var/lib/cni',
  '/etc/cni',
  '/var/log/pods',
  '/var/log/containers',
];

/** Created on first use by containerd and libcni for all runtimes of the machine; they stay. */
const sharedFolders = new Set([
  '/run/containerd',
  '/run/containerd/s',
  '/run/containerd/fifo',
  '/var/lib/cni',
  '/var/lib/cni/networks',
  '/var/lib/cni/results',
]);

/** Takes a snapshot. Its processes are those with the mark of any node, and those of container runtimes. */
export async function takeSnapshot(options: SnapshotOptions = {}): Promise<MachineSnapshot> {
  const { folders = watchedFolders, networkNamespaces = [], about } = options;
  const [processes, mounts, links, cgroups, rules, files] = await Promise.all([
    listProcesses(),
    listMounts(),
    perNamespace(networkNamespaces, listLinks),
    cgroupTree('/'),
    perNamespace(networkNamespaces, listFirewallRules),
    Promise.all(folders.map(listFiles)),
  ]);
  const lines: Record<Aspect, readonly string[]> = {
    processes,
    mounts: mounts.filter(({ type }) => type !== 'nsfs').map(({ target, type }) => `${target} (${type})`),
    'network namespaces': mounts.filter(({ type }) => type === 'nsfs').map(({ target }) => target),
    links,
    cgroups,
    'firewall rules': rules,
    files: files.flat(),
  };
  const taken = (line: string) => about === undefined || about.some((text) => line.includes(text));
  return mapAspects((aspect) => lines[aspect].filter(taken).sort());
}

/** The lines that were added to and removed from `before`. A line that occurs twice counts twice. */
export function diffSnapshots(before: MachineSnapshot, after: MachineSnapshot): SnapshotDifference[] {
  return aspects.flatMap((aspect) => [
    ...without(after[aspect], before[aspect]).map((entry) => ({ aspect, change: 'added', entry }) as const),
    ...without(before[aspect], after[aspect]).map((entry) => ({ aspect, change: 'removed', entry }) as const),
  ]);
}

function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of others) {
    left.set(line, (left.get(line) ?? 0) + 1);
  }
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

function mapAspects(lines: (aspect: Aspect) => string[]): MachineSnapshot {
  return Object.fromEntries(aspects.map((aspect) => [aspect, lines(aspect)])) as unknown as MachineSnapshot;
}

const runtimeCommands = /\/?(containerd|containerd-shim[-\w]*|runc)$/;

async function listProcesses(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [environment, commandLine] = await Promise.all(
        ['environ', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
      );
      const words = commandLine?.split('\0') ?? [];
      const mark = environment?.split('\0').find((variable) => variable.startsWith(`${nodeMark}=`));
      const ours = mark !== undefined || runtimeCommands.test(words[0] ?? '');
      // Without the pid, which would make equal states differ; the command line contains the node's folders.
      return ours ? [words.join(' ').trim(), mark ?? ''].join(' ').trim() : undefined;
    }),
  );
  return found.filter((line) => line !== undefined);
}

async function perNamespace(
  files: readonly string[],
  list: (inside: (command: Command) => Command) => Promise<string[]>,
): Promise<string[]> {
  const machine = list((command) => command);
  const others = files.map(async (file) => {
    const lines = await list((command) => inNetworkNamespace(file, command));
    return lines.map((line) => `${file}: ${line}`);
  });
  return (await Promise.all([machine, ...others])).flat();
}

async function listLinks(inside: (command: Command) => Command): Promise<string[]> {
  const links = await runCommand(inside(['ip', '-oneline', 'link', 'show']));
  // `4: eth0@if5: <UP> mtu ...`: the name alone, since flags and numbers change by themselves.
  return lines(links).map((line) => line.split(': ')[1] ?? line);
}

async function listFirewallRules(inside: (command: Command) => Command): Promise<string[]> {
  const programs: Command[] = [['iptables-save'], ['ip6tables-save'], ['nft', 'list', 'ruleset']];
  const dumps = await Promise.all(
    programs.map(async (program) => {
      if (!(await isInstalled(program[0]))) {
        return [];
      }
      const dump = await runCommand(inside(program));
      // Without comments, which hold the time, and packet counters.
      return lines(dump.replace(/^#.*$/gm, '').replace(/\[\d+:\d+\]/g, '')).map(
        (line) => `${program[0]}: ${line.trim()}`,
      );
    }),
  );
  return dumps.flat();
}

async function isInstalled(program: string): Promise<boolean> {
  return runCommand([program, '--version']).then(
    () => true,
    (error: unknown) => {
      if (error instanceof LauncherError && error.code === 'CommandMissing') {
        return false;
      }
      throw error;
    },
  );
}

/** Paths of files, and of folders with a slash at the end. Entries that vanish meanwhile are left out. */
async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const listed = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) {
      return [path];
    }
    return [...(sharedFolders.has(path) ? [] : [`${path}/`]), ...(await listFiles(path))];
  });
  return (await Promise.all(listed)).flat();
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}
