import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Outcome,
  type RunningCommand,
  checkout,
  makeTestFolder,
  nodeEnvironment,
  poll,
  removeTestFolder,
  startCommand,
  sweepTestFolders,
  takeNodeSnapshot,
  testNode,
} from '@kubus/harness';
import { unmountBelow } from '@kubus/filesystem';
import {
  type MachineSnapshot,
  type NodeDir,
  findProcesses,
  isRunning,
  readRecords,
  removeCgroupRoot,
  takeSnapshot,
} from '@kubus/launcher';
import { callCriOnce } from '@kubus/node-images';

/** A node as a user has it: controlled by `./kubus` only. It exists from `up` on. */
export class UserNode {
  readonly dir: NodeDir;
  readonly #folder: string;
  /** What its commands begin with. */
  readonly #inside: readonly string[];
  /** Every container and sandbox that was ever listed. */
  readonly #seen = new Set<string>();

  /** @param network file that the network namespace is mounted on which stands for the machine's; default: it is the machine's */
  static async prepare(network?: string): Promise<UserNode> {
    await sweepTestFolders();
    const node = new UserNode(await makeTestFolder(), network);
    // The first command in a fresh checkout prepares it, which adds lines to its output.
    await node.kubus('down');
    return node;
  }

  private constructor(folder: string, network: string | undefined) {
    this.#folder = folder;
    this.#inside = network === undefined ? [] : ['nsenter', `--net=${network}`, '--'];
    this.dir = testNode(folder);
  }

  get name(): string {
    return this.dir.node;
  }

  /** Runs `./kubus` for this node, and waits for its end. */
  kubus(...args: string[]): Promise<Outcome> {
    return this.start(...args).outcome;
  }

  /** As {@link kubus}, for a command that keeps running. */
  start(...args: string[]): RunningCommand {
    const [program = '', ...rest] = [...this.#inside, join(checkout, 'kubus'), ...args];
    return startCommand(program, rest, nodeEnvironment(this.#folder));
  }

  /** `./kubus up`, on the containerd that the tests run on. */
  up(...args: string[]): RunningCommand {
    return this.start(...this.#upWith(args));
  }

  /** As {@link up}, in a session of its own: a signal to its process group is what Ctrl-C in a terminal sends. */
  upInSession(...args: string[]): RunningCommand {
    // It becomes the command, and so has its pid.
    return startCommand('setsid', [join(checkout, 'kubus'), ...this.#upWith(args)], nodeEnvironment(this.#folder));
  }

  #upWith(args: readonly string[]): string[] {
    const chosen = process.env['KUBUS_TEST_CONTAINERD'];
    const api = args.some((arg) => ['--kubeconfig', '--api'].includes(arg)) ? [] : ['--no-api'];
    return ['up', ...(chosen === undefined ? [] : ['--containerd', chosen]), ...api, ...args];
  }

  /** Ids of the running containers, by pod and container name. */
  async runningContainers(): Promise<Map<string, string>> {
    const { containers = [] } = await callCriOnce(this.dir.socket('containerd'), 'ListContainers', {});
    const { items = [] } = await callCriOnce(this.dir.socket('containerd'), 'ListPodSandbox', {});
    for (const { id = '' } of [...containers, ...items]) this.#seen.add(id);
    const running = containers.filter(({ state }) => state === 'CONTAINER_RUNNING');
    const nameOf = (labels: Record<string, string> = {}) =>
      `${labels['io.kubernetes.pod.name'] ?? ''}/${labels['io.kubernetes.container.name'] ?? ''}`;
    return new Map(running.map(({ id = '', labels }) => [nameOf(labels), id]));
  }

  /** The running containers of the examples that keep running. */
  async stayingContainers(): Promise<Map<string, string>> {
    const running = await this.runningContainers();
    return new Map([...running].filter(([name]) => !name.startsWith('once-')));
  }

  /** SIGKILL to processes of the node, by name. Resolves when they have ended. */
  async killAll(...names: string[]): Promise<void> {
    const records = (await readRecords(this.dir.processes)).filter(({ what }) => names.includes(what));
    if (records.length !== names.length) throw new Error(`not all of ${names.join(', ')} are running`);
    for (const { pid } of records) process.kill(pid, 'SIGKILL');
    for (const record of records) {
      await poll(`end of ${record.what}`, async () => ((await isRunning(record)) ? undefined : true));
    }
  }

  /** As a restart of the machine does: ends every process of the node and its pods at once, and removes what lies in memory. */
  async loseRun(): Promise<void> {
    // They would be gone with the machine.
    await this.runningContainers();
    const { root, run, processes, cgroupRoot } = this.dir;
    for (const { pid } of await findProcesses(root, processes)) process.kill(pid, 'SIGKILL');
    await poll('the end of the processes', async () =>
      (await findProcesses(root, processes)).length > 0 ? undefined : true,
    );
    await removeCgroupRoot(cgroupRoot);
    await unmountBelow(root);
    await unmountBelow(run);
    await rm(run, { recursive: true });
  }

  /** What is on the machine: all its links and firewall rules, and everything else of this node. */
  async snapshot(): Promise<MachineSnapshot> {
    const machine = await takeSnapshot({ folders: [] });
    const own = await takeNodeSnapshot(this.dir, [...this.#seen]);
    return { ...own, links: machine.links, 'firewall rules': machine['firewall rules'] };
  }

  /** Removes everything, whatever state it is in. */
  async remove(): Promise<void> {
    await removeTestFolder(this.#folder);
  }
}
