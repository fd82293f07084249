import { type NodeExperiment, type Run, type RunResult, schedule } from '@kubus/experiment';
import { adminKubeconfig, nodeDir, nodeKubeconfig, readPrivateConfig } from '@kubus/launcher';
import { toError } from '@kubus/ports';
import { systemIds } from '@kubus/service-kit';
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parse, stringify } from 'yaml';
import { programInNode } from '../node/program-in-node.ts';
import { printError } from '../output/output.ts';
import { UserError } from '../user-error.ts';

/** What a node of an experiment and the program that runs inside it share. */
export interface NodeFolder {
  /** The node's manifest folder. */
  readonly manifests: string;
  /** The administrator's access to the node's API, for programs inside the node; the file is missing without an API. */
  readonly kubeconfig: string;
}

export function nodeFolder(folder: string): NodeFolder {
  return { manifests: join(folder, 'manifests'), kubeconfig: join(folder, 'kubeconfig') };
}

/** A node of an experiment. */
interface ExperimentNode {
  readonly name: string;
  readonly folder: string;
  /** The file with its KubeletConfiguration; undefined: it has none. */
  readonly config: string | undefined;
}

/**
 * Performs every run of an experiment on nodes that exist only for it: arms with the same configuration share one, because that of
 * a node does not change while it runs. Ctrl-C and SIGTERM remove the nodes, too.
 *
 * @param file the experiment's file, which the program inside a node reads again
 * @throws UserError when a node does not start, or a run cannot be completed
 */
export async function runOnNodes(file: string, experiment: NodeExperiment): Promise<RunResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'kubus-experiment-'));
  const ending = new AbortController();
  // A terminal sends Ctrl-C to the children too; the nodes have to be removed in any case.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort());
  const nodes = new Map<string, ExperimentNode>();
  try {
    const ofArm = new Map<string, ExperimentNode>();
    for (const arm of experiment.arms) {
      const key = JSON.stringify(arm.config);
      const node = nodes.get(key) ?? (await preparedNode(folder, experiment, arm));
      ofArm.set(arm.name, node);
      nodes.set(key, node);
    }
    for (const node of nodes.values()) await startNode(node, experiment, ending.signal);
    const results: RunResult[] = [];
    for (const { node, runs } of groupsOf(schedule(experiment), ofArm)) {
      results.push(...(await runGroup(file, experiment, { node, runs }, ending.signal)));
    }
    return results;
  } finally {
    for (const { name } of nodes.values()) {
      if (existsSync(nodeDir(name).root)) await runSelf(['--node', name, 'down', '--grace', '1']);
    }
    await rm(folder, { recursive: true, force: true });
  }
}

/** What a node needs before it starts. Throws a UserError when its configuration is not valid. */
async function preparedNode(
  folder: string,
  { podMemory }: NodeExperiment,
  { name: arm, config }: NodeExperiment['arms'][number],
): Promise<ExperimentNode> {
  const name = `experiment-${systemIds.hex(3)}`;
  const own = join(folder, name);
  await mkdir(nodeFolder(own).manifests, { recursive: true });
  const settings = { ...config, ...(podMemory !== undefined && limitOfPods(config, podMemory)) };
  if (Object.keys(settings).length === 0) return { name, folder: own, config: undefined };
  const file = join(own, 'config.yaml');
  const head = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  await writeFile(file, stringify({ ...head, ...settings }));
  try {
    readPrivateConfig(file);
  } catch (error) {
    throw new UserError(`arm ${arm}: config: ${toError(error).message.replace(`${file}: `, '')}`, { cause: error });
  }
  return { name, folder: own, config: file };
}

async function startNode(
  { name, folder, config }: ExperimentNode,
  { workload }: NodeExperiment,
  signal: AbortSignal,
): Promise<void> {
  printError(`kubus: the experiment runs on the temporary node ${name}`);
  const { manifests, kubeconfig } = nodeFolder(folder);
  const hasApi = workload.from === 'api';
  const options = ['--faults', hasApi ? '--api' : '--no-api', '--manifests', manifests];
  const configured = config === undefined ? [] : ['--config', config];
  const started = await runSelf(['--node', name, 'up', ...options, ...configured], signal);
  if (started !== 0) throw new UserError(`node ${name} of the experiment did not start: see the messages above`);
  if (hasApi) await writeInsideKubeconfig(name, kubeconfig);
}

/** All memory but this is reserved, and the pods are held to the rest. */
function limitOfPods(config: { readonly systemReserved?: object }, podMemory: number): object {
  const memory = String(Math.max(0, totalmem() - podMemory));
  return { systemReserved: { ...config.systemReserved, memory }, enforceNodeAllocatable: ['pods'] };
}

/** The administrator's kubeconfig, with the address that the API has inside the node. */
async function writeInsideKubeconfig(name: string, path: string): Promise<void> {
  interface Kubeconfig {
    readonly clusters: readonly { readonly name: string; readonly cluster: { readonly server: string } }[];
  }
  const read = async (from: string) => parse(await readFile(from, 'utf8')) as Kubeconfig;
  const dir = nodeDir(name);
  const [admin, own] = [await read(adminKubeconfig(dir)), await read(nodeKubeconfig(dir))];
  const server = own.clusters[0]?.cluster.server;
  const clusters = admin.clusters.map((one) => ({ ...one, cluster: { ...one.cluster, server } }));
  await writeFile(path, stringify({ ...admin, clusters }), { mode: 0o600 });
}

/** Runs that follow each other on one node. */
interface RunGroup {
  readonly node: ExperimentNode;
  readonly runs: Run[];
}

function groupsOf(runs: readonly Run[], ofArm: ReadonlyMap<string, ExperimentNode>): readonly RunGroup[] {
  const groups: RunGroup[] = [];
  for (const run of runs) {
    const [node, last] = [ofArm.get(run.arm), groups.at(-1)];
    if (node === undefined) continue;
    if (last?.node === node) last.runs.push(run);
    else groups.push({ node, runs: [run] });
  }
  return groups;
}

async function runGroup(
  file: string,
  { name }: NodeExperiment,
  { node, runs }: RunGroup,
  signal: AbortSignal,
): Promise<RunResult[]> {
  const [first, last] = [runs[0]?.number ?? 1, runs.at(-1)?.number ?? 0];
  const [program, ...args] = programInNode(nodeDir(node.name), [
    ...['experiment-inside', file, node.folder, String(first), String(last)],
  ]);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [status, printed] = await Promise.all([exitOf(child, signal), text(child.stdout)]);
  if (status !== 0) throw new UserError(`experiment ${name} was not completed: see the messages above`);
  return JSON.parse(printed) as RunResult[];
}

/** Runs this program with other arguments; its output goes to standard error. Resolves with its exit code. */
function runSelf(args: readonly string[], signal?: AbortSignal): Promise<number> {
  const argv = [...process.execArgv, process.argv[1] ?? '', ...args];
  const options: SpawnOptions = { stdio: ['ignore', process.stderr.fd, 'inherit'] };
  return exitOf(spawn(process.execPath, argv, options), signal);
}

async function exitOf(child: ChildProcess, signal?: AbortSignal): Promise<number> {
  const end = () => child.kill('SIGTERM');
  signal?.addEventListener('abort', end);
  if (signal?.aborted === true) end();
  const [code] = (await once(child, 'exit')) as [number | null];
  signal?.removeEventListener('abort', end);
  return code ?? 1;
}
