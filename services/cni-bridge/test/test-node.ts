// A node for tests: a network namespace of its own, pods' namespaces, the real CNI plugins, the compiled shim, and the
// bridge as a process. Processes that end with this one hold the namespaces; nothing is mounted.
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { endStrays, linkShimSocket } from '@kubus/cni';
import type { CniCommand, NetworkReadiness } from '@kubus/cni-config';
import type { AttachmentView, PluginEvent } from '../src/index.ts';
import type { BridgeCommand, BridgeSetup } from './bridge-process.ts';
import { recordsIn } from './journal-file.ts';

/** Where Debian installs the plugins. */
const REAL_PLUGINS = '/usr/lib/cni';

export interface Said {
  readonly ready?: true;
  readonly recovered?: { readonly removed: number; readonly failed: number };
  readonly collected?: { readonly removed: number; readonly failed: number };
  readonly checks?: { readonly checked: number; readonly failed: readonly string[] };
  readonly podCidrs?: readonly string[];
  readonly state?: {
    readonly attachments: readonly AttachmentView[];
    readonly network: NetworkReadiness;
    readonly load: { readonly running: number; readonly waiting: number };
  };
  readonly network?: NetworkReadiness;
  readonly plugin?: PluginEvent;
  readonly log?: { readonly level: string; readonly message: string };
}

export interface ShimAnswer {
  readonly exitCode: number | null;
  readonly stdout: string;
  /** Its output, parsed. */
  readonly json: {
    readonly cniVersion?: string;
    readonly ips?: readonly { readonly address: string }[];
    readonly code?: number;
    readonly msg?: string;
  };
}

/** A running bridge. */
export class BridgeProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly said: Said[] = [];
  readonly ended: Promise<unknown>;
  #changed = Promise.withResolvers<undefined>();

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    this.ended = once(child, 'close').then(() => this.#wake());
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.said.push(JSON.parse(line) as Said);
      this.#wake();
    });
    child.stderr.pipe(process.stderr);
  }

  /**
   * Resolves with the first value that `pick` returns for a line of output, from the first line or from line `from`
   * on.
   */
  async waitFor<Found>(pick: (said: Said) => Found | undefined, from = 0): Promise<Found> {
    for (let at = from; ; at += 1) {
      while (at >= this.said.length) {
        if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
          throw new Error('the bridge ended without the expected output');
        }
        await this.#changed.promise;
      }
      const said = this.said[at];
      const found = said && pick(said);
      if (found !== undefined) {
        return found;
      }
    }
  }

  async ask<Found>(command: BridgeCommand, pick: (said: Said) => Found | undefined): Promise<Found> {
    const from = this.said.length;
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
    return this.waitFor(pick, from);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  state(): Promise<NonNullable<Said['state']>> {
    return this.ask({ command: 'state' }, ({ state }) => state);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  #wake(): void {
    const changed = this.#changed;
    this.#changed = Promise.withResolvers();
    changed.resolve(undefined);
  }
}

/** A network namespace, held by a process. */
export class Namespace {
  readonly path: string;
  readonly #holder: ChildProcessWithoutNullStreams;

  private constructor(holder: ChildProcessWithoutNullStreams) {
    this.#holder = holder;
    this.path = `/proc/${holder.pid ?? ''}/ns/net`;
  }

  static async make(): Promise<Namespace> {
    const holder = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up && echo made && exec cat']);
    await once(holder.stdout, 'data');
    return new Namespace(holder);
  }

  /** Runs a program in the namespace and returns its output. */
  run(...argv: readonly string[]): string {
    return execFileSync('nsenter', [`--net=${this.path}`, '--', ...argv], { encoding: 'utf8' });
  }

  async end(): Promise<void> {
    if (this.#holder.exitCode === null && this.#holder.signalCode === null) {
      const ended = once(this.#holder, 'exit');
      this.#holder.kill('SIGKILL');
      await ended;
    }
  }
}

export class TestNode {
  readonly folder: string;
  /** The node's own network. */
  readonly host: Namespace;
  readonly #mark: string;
  readonly #journal: string;
  readonly #namespaces: Namespace[] = [];
  readonly #bridges: BridgeProcess[] = [];

  private constructor(folder: string, host: Namespace) {
    this.folder = folder;
    this.host = host;
    this.#mark = folder;
    this.#journal = join(folder, 'attachments.jsonl');
  }

  static async make(): Promise<TestNode> {
    const node = new TestNode(mkdtempSync(join(tmpdir(), 'kubus-cni-node-')), await Namespace.make());
    for (const folder of ['configs', 'shim', 'plugins', 'ipam']) {
      mkdirSync(join(node.folder, folder));
    }
    const build = join(import.meta.dirname, '../../../packages/adapters/cni/scripts/build-shim.mjs');
    execFileSync(process.execPath, [build, join(node.folder, 'shim')]);
    await linkShimSocket(join(node.folder, 'shim'), join(node.folder, 'run/cni.sock'));
    return node;
  }

  async close(): Promise<void> {
    await Promise.all(this.#bridges.map((bridge) => bridge.kill()));
    await endStrays(this.#mark);
    await Promise.all([...this.#namespaces, this.host].map((namespace) => namespace.end()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  configure(file: string, content: unknown): void {
    writeFileSync(join(this.folder, 'configs', file), typeof content === 'string' ? content : JSON.stringify(content));
  }

  unconfigure(file: string): void {
    rmSync(join(this.folder, 'configs', file));
  }

  /** Creates a plugin that is a shell script; it hides a real one of the same name. */
  script(type: string, script: string): void {
    writeFileSync(join(this.folder, 'plugins', type), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  /** The bridge and host-local plugins in the pod network 10.88.0.0/16, as a part of a chain. */
  bridgePlugin(): Record<string, unknown> {
    const ipam = { type: 'host-local', dataDir: join(this.folder, 'ipam'), ranges: [[{ subnet: '10.88.0.0/16' }]] };
    return { type: 'bridge', bridge: 'cni0', isGateway: true, ipMasq: true, hairpinMode: true, ipam };
  }

  /** Starts the bridge in the node's network and waits until it serves. */
  async startBridge(options: Pick<BridgeSetup, 'limits' | 'fault' | 'plain'> = {}): Promise<BridgeProcess> {
    const setup: BridgeSetup = {
      journal: this.#journal,
      socket: join(this.folder, 'run/cni.sock'),
      configs: join(this.folder, 'configs'),
      plugins: [join(this.folder, 'plugins'), REAL_PLUGINS],
      mark: this.#mark,
      ...options,
    };
    const entry = join(import.meta.dirname, 'bridge-process.ts');
    const child = spawn('nsenter', [`--net=${this.host.path}`, '--', process.execPath, entry, JSON.stringify(setup)], {
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(this.folder, 'compiled') },
    });
    const bridge = new BridgeProcess(child);
    this.#bridges.push(bridge);
    await bridge.waitFor(({ ready }) => ready);
    return bridge;
  }

  /** Creates the namespace of a pod's sandbox. */
  async makeSandbox(): Promise<Namespace> {
    const namespace = await Namespace.make();
    this.#namespaces.push(namespace);
    return namespace;
  }

  /** Calls the shim as the runtime does, in the node's network. */
  async call(
    command: CniCommand,
    containerId: string,
    netns: string,
    options: {
      runtimeConfig?: unknown;
      cniVersion?: string;
      ifname?: string;
      name?: string;
      stdin?: unknown;
      timeout?: string;
    } = {},
  ): Promise<ShimAnswer> {
    const { runtimeConfig, cniVersion = '1.0.0', ifname = 'eth0', name = 'kubus-cni', stdin, timeout } = options;
    const shim = spawn('/usr/bin/nsenter', [`--net=${this.host.path}`, '--', join(this.folder, 'shim', name)], {
      env: {
        CNI_COMMAND: command,
        CNI_CONTAINERID: containerId,
        CNI_NETNS: netns,
        CNI_IFNAME: ifname,
        CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod-${containerId};K8S_POD_UID=uid-${containerId}`,
        CNI_PATH: join(this.folder, 'shim'),
        ...(timeout !== undefined && { KUBUS_CNI_TIMEOUT: timeout }),
      },
    });
    const ended = once(shim, 'close');
    shim.stdin.end(JSON.stringify(stdin ?? { cniVersion, name: 'kubus', type: name, runtimeConfig }));
    const stdout = await text(shim.stdout);
    await ended;
    return { exitCode: shim.exitCode, stdout, json: JSON.parse(stdout || '{}') as ShimAnswer['json'] };
  }

  /** The addresses that host-local has leased in a network: container ID by address. */
  leases(network = 'pods'): Record<string, string> {
    const folder = join(this.folder, 'ipam', network);
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => /^[0-9.]+$/.test(name)) : [];
    return Object.fromEntries(
      names.map((name) => [name, readFileSync(join(folder, name), 'utf8').split(/\s/)[0] ?? '']),
    );
  }

  /** The keys of the journal's records. */
  journal(): string[] {
    return [...recordsIn(this.#journal).keys()].sort();
  }

  /** The interfaces of pods on the node's bridge. */
  ports(): string[] {
    const links = JSON.parse(this.host.run('ip', '-json', 'link', 'show', 'type', 'veth')) as { ifname?: string }[];
    return links.map(({ ifname }) => ifname ?? '').filter((name) => name !== '');
  }

  /** The chains and rules of the node's firewall that belong to single containers. */
  podRules(): string[] {
    const rules = this.host.run('iptables-save', '-t', 'nat').split('\n');
    return rules.filter((rule) => /CNI-DN-|CNI-[0-9a-f]{24}/.test(rule));
  }
}
