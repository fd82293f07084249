import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Command,
  type ContainerdPrograms,
  type NodeDir,
  type ProcessRecord,
  createNodeDir,
  findContainerd,
  inNetworkNamespace,
  isRunning,
  nodeConfigFile,
  readRecords,
  runCommand,
  takeDown,
} from '@kubus/launcher';
import { callCriOnce } from '@kubus/node-images';
import type { CriMethods, UnaryCriMethod } from '@kubus/proto/cri';
import { type NodeConfig, nodeConfigSchema } from '@kubus/service-kit';
import { HarnessError } from './errors.ts';
import { EventLog } from './event-log.ts';
import { type Outcome, type RunningCommand, checkout, kubusProgram, startCommand } from './kubus-command.ts';
import { expectEmpty, knownContainers, takeNodeSnapshot } from './leaks.ts';
import { NodeWatch } from './node-watch.ts';
import { poll } from './poll.ts';
import { makeTestFolder, removeTestFolder, sweepTestFolders, testNode } from './test-folder.ts';
import { Tunnel } from './tunnel.ts';

export interface NodeOptions {
  /** Manifests by file name: text, or documents that are written as JSON. */
  readonly manifests?: Readonly<Record<string, string | object>>;
  /** Which services share a process. Default: none. */
  readonly placement?: 'hosted';
  /** Services that the node does not start because the test replaces them. Default: none. */
  readonly elsewhere?: readonly string[];
  /** The node runs the observatory. Default: false. */
  readonly observatory?: boolean;
  /** Returns the kubeconfig with which the node of that name joins a cluster. Default: the node joins none. */
  readonly kubeconfig?: (node: string) => Promise<string>;
  /** The program is of an earlier version, which has no API unless asked for, and does not know `--no-api`. Default: false. */
  readonly isEarlier?: boolean;
  /** It has a Kubernetes API of its own, as by default for users. Default: false. */
  readonly api?: boolean;
  /** How many instances of a service. Default: one of each. */
  readonly scale?: Readonly<Record<string, number>>;
  /** Faults can be injected with `kubus fault`. Default: false. */
  readonly faults?: boolean;
  /** Its services keep journals. Default: false. */
  readonly journal?: boolean;
  /** The command line program of another installation, whose services the node runs. Default: the checkout's. */
  readonly program?: string;
  /** Further options of `kubus up`. Default: none. */
  readonly up?: readonly string[];
  /** Called when the node's folders exist and nothing is running yet. */
  readonly prepare?: (dir: NodeDir) => Promise<void>;
}

/** TCP port of a node's own NATS server in its network namespace. */
export const NATS_PORT = 4222;

/**
 * Starts a whole private node as a user does, with `kubus up`: NATS, containerd (the machine's, or that in the environment
 * variable KUBUS_TEST_CONTAINERD) and the built services, in a folder and a network namespace of its own. Any number of
 * them may run at once. First removes leftovers of killed test processes.
 *
 * @throws HarnessError `NotStarted` with the output of `kubus up`.
 */
export async function startNode(options: NodeOptions = {}): Promise<TestNode> {
  await sweepTestFolders();
  const folder = await makeTestFolder();
  const programs = await findContainerd(process.env['KUBUS_TEST_CONTAINERD']);
  try {
    return await TestNode.start(folder, programs, options);
  } catch (error) {
    await removeTestFolder(folder, programs.runc);
    throw error;
  }
}

/** The environment of the programs of a node in that folder. */
export function nodeEnvironment(folder: string): Record<string, string> {
  return {
    KUBUS_LIB_DIR: join(folder, 'lib'),
    KUBUS_RUN_DIR: join(folder, 'run'),
    KUBUS_NODE: testNode(folder).node,
    // Tests need no other network; one that does asks for it.
    KUBUS_NETWORK: 'none',
    NODE_COMPILE_CACHE: join(checkout, '.kubus/compile-cache'),
  };
}

/** A private node with everything that a test inspects and changes. */
export class TestNode {
  /** Contains all files of the node and of the test. */
  readonly folder: string;
  readonly dir: NodeDir;
  /** The folder that the node reads its pods from. */
  readonly manifests: string;
  readonly programs: ContainerdPrograms;
  /** containerd's own event log, from before the first pod on. */
  readonly events: EventLog;
  readonly watch: NodeWatch;
  /** The tunnel into the node's network namespace. */
  readonly tunnel: Tunnel;
  readonly #program: string | undefined;
  readonly #up: readonly string[];

  static async start(folder: string, programs: ContainerdPrograms, options: NodeOptions): Promise<TestNode> {
    const dir = testNode(folder);
    const manifests = join(folder, 'manifests');
    await mkdir(manifests);
    if (options.prepare !== undefined) {
      await createNodeDir(dir);
      await options.prepare(dir);
    }
    const chosen = process.env['KUBUS_TEST_CONTAINERD'];
    const scale = Object.entries(options.scale ?? {}).flatMap(([service, count]) => ['--scale', `${service}=${count}`]);
    const elsewhere = (options.elsewhere ?? []).flatMap((service) => ['--elsewhere', service]);
    const placement = options.placement === undefined ? [] : ['--placement', options.placement];
    const containerd = chosen === undefined ? [] : ['--containerd', chosen];
    const cluster = options.kubeconfig === undefined ? [] : ['--kubeconfig', await options.kubeconfig(dir.node)];
    const kinds = (['observatory', 'faults', 'journal'] as const).filter((kind) => options[kind] === true);
    const flags = kinds.map((kind) => `--${kind}`);
    const { program } = options;
    const hasDefault = options.api === true || options.kubeconfig !== undefined || options.isEarlier === true;
    const api = hasDefault ? [] : ['--no-api'];
    const up = [
      'up',
      '--manifests',
      manifests,
      ...flags,
      ...scale,
      ...placement,
      ...elsewhere,
      ...containerd,
      ...cluster,
      ...api,
      ...(options.up ?? []),
    ];
    await startUp(folder, up, program);
    const tunnel = await Tunnel.open(dir);
    const watch = await NodeWatch.open(dir, await tunnel.expose(NATS_PORT));
    const events = await EventLog.record({ dir, socket: dir.socket('containerd'), ctr: programs.ctr });
    const node = new TestNode({ folder, dir, manifests, programs, events, watch, tunnel }, up, program);
    for (const [name, content] of Object.entries(options.manifests ?? {})) await node.writeManifest(name, content);
    return node;
  }

  private constructor(
    parts: Pick<TestNode, 'folder' | 'dir' | 'manifests' | 'programs' | 'events' | 'watch' | 'tunnel'>,
    up: readonly string[],
    program: string | undefined,
  ) {
    this.#up = up;
    this.#program = program;
    this.folder = parts.folder;
    this.dir = parts.dir;
    this.manifests = parts.manifests;
    this.programs = parts.programs;
    this.events = parts.events;
    this.watch = parts.watch;
    this.tunnel = parts.tunnel;
  }

  get name(): string {
    return this.dir.node;
  }

  /** Writes a manifest atomically. */
  async writeManifest(name: string, content: string | object): Promise<void> {
    const part = join(this.manifests, `.${name}.new`);
    await writeFile(part, typeof content === 'string' ? content : JSON.stringify(content));
    await rename(part, join(this.manifests, name));
  }

  async removeManifest(name: string): Promise<void> {
    await rm(join(this.manifests, name));
  }

  /** Removes every manifest, without waiting. */
  async clearManifests(): Promise<void> {
    for (const name of await readdir(this.manifests)) await this.removeManifest(name);
  }

  /** Runs the command line program on this node to its end. */
  kubus(...args: string[]): Promise<Outcome> {
    return this.startKubus(...args).outcome;
  }

  /** As {@link kubus}, for a command that keeps running. */
  startKubus(...args: string[]): RunningCommand {
    return runKubus(this.folder, args, this.#program);
  }

  /** Runs `kubus up` again with the same arguments: restarts a launcher that has ended. */
  upAgain(): Promise<void> {
    return startUp(this.folder, this.#up, this.#program);
  }

  /** The environment of this node's programs, for a test that starts them on its own. */
  get environment(): Record<string, string> {
    return nodeEnvironment(this.folder);
  }

  /** A CRI call directly to the node's runtime. */
  cri<M extends UnaryCriMethod>(method: M, request: CriMethods[M]['request']): Promise<CriMethods[M]['response']> {
    return callCriOnce(this.dir.socket('containerd'), method, request);
  }

  /** `command` as one that runs in the node's network namespace. */
  inside(command: Command): Command {
    return inNetworkNamespace(this.dir.networkNamespace, command);
  }

  /** Runs `ctr` in the runtime's namespace of CRI and returns its output. */
  ctr(...args: string[]): Promise<string> {
    return runCommand([
      this.programs.ctr,
      '--address',
      this.dir.socket('containerd'),
      '--namespace',
      'k8s.io',
      ...args,
    ]);
  }

  /** The running process with this name: `sync-loop-0`, `nats-server`, `containerd`, `launcher`. */
  async process(name: string): Promise<ProcessRecord | undefined> {
    return (await readRecords(this.dir.processes)).find(({ what }) => what === name);
  }

  /**
   * Sends a signal to the process of this name, waiting for it while it is being started. Returns its record. Default:
   * SIGKILL.
   */
  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<ProcessRecord> {
    return poll(`process ${name}`, async () => {
      const record = await this.process(name);
      if (record === undefined) return undefined;
      try {
        process.kill(record.pid, signal);
        return record;
      } catch (error) {
        // The record of a process that has ended stays until its successor runs.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
        return undefined;
      }
    });
  }

  /** Waits until that process has ended and the launcher has replaced it. */
  async replaced(record: ProcessRecord): Promise<ProcessRecord> {
    return poll(`another process ${record.what} than ${record.pid}`, async () => {
      if (await isRunning(record)) return undefined;
      return this.process(record.what);
    });
  }

  /** Kills a service, and waits until the restarted one has announced itself. */
  async restart(instance: string): Promise<void> {
    const { epoch } = await this.watch.until(`${instance} on the bus`, () => this.watch.instance(instance));
    await this.kill(instance);
    await this.watch.until(`${instance} after epoch ${epoch}`, () => {
      const now = this.watch.instance(instance);
      return now !== undefined && now.epoch > epoch ? now : undefined;
    });
  }

  /** Changes the configuration that the services read when they start. A restarted launcher overwrites it. */
  async reconfigure(change: (config: NodeConfig) => NodeConfig): Promise<void> {
    await writeFile(nodeConfigFile(this.dir), JSON.stringify(change(await this.config())), { mode: 0o600 });
  }

  /** The configuration that the services read when they start. */
  async config(): Promise<NodeConfig> {
    return nodeConfigSchema.parse(JSON.parse(await readFile(nodeConfigFile(this.dir), 'utf8')));
  }

  /** A service's own HTTP endpoints: `healthz`, `readyz`, `metrics`. */
  async http(instance: string, path: string): Promise<{ status: number; body: string }> {
    const { http } = await this.watch.until(`${instance} on the bus`, () => this.watch.instance(instance));
    return this.tunnel.get(`${http ?? ''}/${path}`);
  }

  /** Everything of the node on the machine. */
  async snapshot(): ReturnType<typeof takeNodeSnapshot> {
    return takeNodeSnapshot(this.dir, knownContainers(this.events));
  }

  /**
   * Takes the node down as `kubus down` does, without waiting for containers, and removes the test's own folder.
   *
   * @throws HarnessError `Leak` when the node has left something behind.
   */
  async stop(): Promise<void> {
    try {
      await this.watch.close();
      await this.tunnel.close();
      await this.events.stop();
      await takeDown(this.dir, { graceSeconds: 0 });
      expectEmpty(await this.snapshot(), `Node ${this.name}`);
    } finally {
      await removeTestFolder(this.folder, this.programs.runc);
    }
  }
}

/** Runs the command line program on the node of a test folder. */
export function runKubus(folder: string, args: readonly string[], program = kubusProgram): RunningCommand {
  return startCommand(process.execPath, [program, ...args], nodeEnvironment(folder));
}

async function startUp(folder: string, args: readonly string[], program: string | undefined): Promise<void> {
  const { code, stdout, stderr } = await runKubus(folder, args, program).outcome;
  if (code !== 0) throw new HarnessError('NotStarted', `kubus up failed (${code}):\n${stdout}${stderr}`);
}
