import { existsSync } from 'node:fs';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { containerDir } from '../containers/container-dir.ts';
import { type ProcessRecord, findProcesses } from '../processes/process-record.ts';
import { type NodeDir, type NodeDirOptions, isNodeName, nodeBases, nodeDir } from './node-dir.ts';
import { settingsFile } from './node-settings.ts';

/**
 * `Running`: its launcher runs. `NoLauncher`: some of its processes run. `Stopped`: none does, as after the machine has restarted.
 * `Incomplete`: its start was cut off. `Containers`: its services run in containers, which are not looked into.
 */
type NodeState = 'Running' | 'NoLauncher' | 'Stopped' | 'Incomplete' | 'Containers';

/** A node that this machine has. */
export interface ListedNode {
  readonly dir: NodeDir;
  readonly state: NodeState;
  /** Memory of its processes without its pods, in bytes (PSS); undefined where services run in containers. */
  readonly memoryBytes: number | undefined;
  /** When its folder was created. */
  readonly createdAt: Date;
}

/** The nodes whose folders are on this machine, whatever state they are in, sorted by name. */
export async function listNodes(options: NodeDirOptions = {}): Promise<ListedNode[]> {
  const names = await nodeNames(options);
  const nodes = await Promise.all(names.map((name) => describeNode(name, options)));
  return nodes.filter((node) => node !== undefined);
}

/** The names of the nodes whose folders are on this machine. */
export async function nodeNames(options: NodeDirOptions = {}): Promise<string[]> {
  const { base, runBase } = nodeBases(options);
  const folders = async (of: string) => (await readdir(of, { withFileTypes: true }).catch(() => [])).filter(isFolder);
  const kept = (await folders(base)).map(({ name }) => name).filter(isNodeName);
  const runs = new Set(kept.map((name) => nodeDir(name, options).run));
  // The folder of a node may be gone from below its sockets and namespaces.
  const left = (await folders(runBase)).map(({ name }) => name).filter(isNodeName);
  return [...kept, ...left.filter((name) => !runs.has(join(runBase, name)))].sort();
}

function isFolder(entry: { isDirectory(): boolean }): boolean {
  return entry.isDirectory();
}

/** Undefined when the node has been removed meanwhile. */
async function describeNode(name: string, options: NodeDirOptions): Promise<ListedNode | undefined> {
  const dir = nodeDir(name, options);
  const found = (await stat(dir.root).catch(() => undefined)) ?? (await stat(dir.run).catch(() => undefined));
  if (found === undefined) return undefined;
  // A file system without the time of creation reports 1970.
  const createdAt = found.birthtimeMs > 0 ? found.birthtime : found.ctime;
  if (existsSync(join(dir.root, 'containers'))) {
    return { dir: containerDir(name, name, options), state: 'Containers', memoryBytes: undefined, createdAt };
  }
  const processes = await findProcesses(dir.root, dir.processes);
  const memory = await Promise.all(processes.map(({ pid }) => proportionalMemory(pid)));
  return {
    dir,
    state: stateOf(processes, existsSync(settingsFile(dir))),
    memoryBytes: memory.reduce((sum, bytes) => sum + bytes, 0),
    createdAt,
  };
}

function stateOf(processes: readonly ProcessRecord[], hasSettings: boolean): NodeState {
  if (processes.some(({ what }) => what === 'launcher')) return 'Running';
  if (processes.length > 0) return 'NoLauncher';
  return hasSettings ? 'Stopped' : 'Incomplete';
}

/** The process's own pages and its share of shared ones, in bytes; 0 when it has ended. */
async function proportionalMemory(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss: +(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
}
