import { z } from 'zod';

/** Settings of one cgroup: file name to content. */
export type CgroupSettings = Readonly<Record<string, string>>;

/** What a machine has, as far as limits depend on it. */
const nodeFacts = z.strictObject({
  cpus: z.number(),
  /** Bytes of memory (MemTotal). */
  memory: z.number(),
  /** Greatest process ID, which limits processes and threads. */
  pids: z.number(),
  /** Processes and threads that the kernel allows (threads-max). */
  threads: z.number(),
});
export type NodeFacts = z.infer<typeof nodeFacts>;

/** The versions of everything that a result depends on. */
const versions = z.strictObject({
  distribution: z.string(),
  kernel: z.string(),
  cgroup: z.string(),
  driver: z.string(),
  containerd: z.string(),
  runc: z.string(),
  nats: z.string(),
  systemd: z.string(),
});
export type Versions = z.infer<typeof versions>;

/** The pods' cgroups of a machine, with their settings and what made them. */
export const cgroupTree = z.strictObject({
  /** The agent with its version. */
  agent: z.string(),
  date: z.string(),
  versions,
  node: nodeFacts,
  /** By path below /sys/fs/cgroup; pods and containers have their names in place of their ids. */
  cgroups: z.record(z.string(), z.record(z.string(), z.string())),
  /** Properties of the systemd units among them; empty with the driver cgroupfs. */
  units: z.record(z.string(), z.record(z.string(), z.string())),
});
export type CgroupTree = z.infer<typeof cgroupTree>;

/** A container or sandbox that the runtime runs, as its OCI annotations name it. */
export interface NamedContainer {
  readonly id: string;
  readonly pod: string;
  readonly podUid: string;
  /** Undefined: the sandbox. */
  readonly container: string | undefined;
}

/** Lines `PATH/FILE:CONTENT`, as `grep -H` prints them, as settings by cgroup. Files with several lines keep them all. */
export function settingsByCgroup(text: string): Map<string, Record<string, string>> {
  const cgroups = new Map<string, Record<string, string>>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    // A cgroup's name may have colons, a line's first one ends the path: the script lists no such name.
    const slash = line.lastIndexOf('/', colon);
    if (colon === -1 || slash === -1) continue;
    const [path, file, content] = [line.slice(0, slash), line.slice(slash + 1, colon), line.slice(colon + 1)];
    const settings = cgroups.get(path) ?? {};
    cgroups.set(path, settings);
    settings[file] = settings[file] === undefined ? content : `${settings[file]}\n${content}`;
  }
  return cgroups;
}

/** Replaces the ids in a path or a unit's name, which differ from run to run, with the names of what has them. */
export function withNames(path: string, containers: readonly NamedContainer[]): string {
  let named = path;
  for (const { id, pod, podUid, container } of containers) {
    named = named.replaceAll(id, container ?? 'sandbox');
    for (const uid of [podUid, podUid.replaceAll('-', '_')]) named = named.replaceAll(`pod${uid}`, `pod:${pod}`);
  }
  return named;
}

/** One difference between two trees. `undefined`: the cgroup or the file does not exist there. */
export interface TreeDifference {
  readonly cgroup: string;
  readonly file?: string;
  readonly expected: string | undefined;
  readonly found: string | undefined;
}

/**
 * Where a tree differs from the reference's: cgroups that only one of them has, and files whose contents differ. Values that follow
 * from what a machine has are compared with what this machine has.
 */
export function treeDifferences(reference: CgroupTree, found: CgroupTree): TreeDifference[] {
  const parts = [
    [reference.cgroups, found.cgroups],
    [reference.units, found.units],
  ] as const;
  return parts.flatMap(([expected, actual]) => {
    const paths = [...new Set([...Object.keys(expected), ...Object.keys(actual)])].sort();
    return paths.flatMap((cgroup): TreeDifference[] => {
      const [theirs, ours] = [expected[cgroup], actual[cgroup]];
      if (theirs === undefined || ours === undefined) {
        return [{ cgroup, expected: theirs && 'exists', found: ours && 'exists' }];
      }
      return settingsDifferences(translated(theirs, reference.node, found.node), ours).map((one) => ({
        cgroup,
        ...one,
      }));
    });
  });
}

function settingsDifferences(expected: CgroupSettings, found: CgroupSettings): Omit<TreeDifference, 'cgroup'>[] {
  const files = [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort();
  return files
    .filter((file) => expected[file] !== found[file])
    .map((file) => ({ file, expected: expected[file], found: found[file] }));
}

/** The part of the machine's threads that systemd gives a unit by default (DefaultTasksMax, systemd-system.conf(5)). */
const DEFAULT_TASKS = 0.15;

/** Kernels of other releases and machines of other sizes have other totals. */
function translated(settings: CgroupSettings, from: NodeFacts, to: NodeFacts): CgroupSettings {
  const totals = new Map([
    [String(from.memory), String(to.memory)],
    [String(from.pids), String(to.pids)],
    [String(from.threads), String(to.threads)],
    [String(Math.floor(from.threads * DEFAULT_TASKS)), String(Math.floor(to.threads * DEFAULT_TASKS))],
  ]);
  return Object.fromEntries(Object.entries(settings).map(([file, value]) => [file, totals.get(value) ?? value]));
}

/** A difference as one line for people. */
export function differenceLine({ cgroup, file, expected, found }: TreeDifference): string {
  const shown = (value: string | undefined) => (value === undefined ? 'missing' : JSON.stringify(value));
  return `${cgroup}${file === undefined ? '' : ` ${file}`}: expected ${shown(expected)}, found ${shown(found)}`;
}
