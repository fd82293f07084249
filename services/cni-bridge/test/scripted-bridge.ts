// A bridge in the test's own process, with plugins that are shell scripts and a journal in a file.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { PluginHost, ShimServer, endStrays, linkShimSocket } from '@kubus/cni';
import type { Invocation, NetworkReadiness, PluginOutput } from '@kubus/cni-config';
import type { Logger } from '@kubus/ports';
import { JournalRecordStore, systemClock } from '@kubus/service-kit';
import { type AttachmentView, type BridgeLimits, CniBridge, type PluginEvent } from '../src/index.ts';
import { recordsIn } from './journal-file.ts';

const made: ScriptedBridge[] = [];

afterEach(async () => {
  await Promise.all(made.splice(0).map((each) => each.close()));
});

/** A result with an address, as a plugin prints it. */
export const RESULT = '{"cniVersion":"1.0.0","ips":[{"address":"10.88.0.5/16"}]}';

export class ScriptedBridge {
  readonly folder = mkdtempSync(join(tmpdir(), 'kubus-cni-scripted-'));
  readonly logged: string[] = [];
  readonly pluginEvents: PluginEvent[] = [];
  readonly attachmentEvents: AttachmentView[] = [];
  readonly networkEvents: NetworkReadiness[] = [];
  bridge: CniBridge;
  readonly plugins = new PluginHost({ folders: [join(this.folder, 'plugins')], ownerMark: this.folder });
  readonly #ends: (() => Promise<unknown>)[] = [];
  readonly #limits: Partial<BridgeLimits>;

  constructor(limits: Partial<BridgeLimits> = {}) {
    this.#limits = limits;
    mkdirSync(join(this.folder, 'plugins'));
    writeFileSync(join(this.folder, 'calls'), '');
    this.bridge = this.restart();
    made.push(this);
  }

  /** Another bridge on the same journal, as after a restart; not recovered yet. */
  restart(): CniBridge {
    const keep = (fields: object, message: string) => void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep, child: () => logger };
    const journal = new JournalRecordStore({ path: this.journalFile, logger });
    this.#ends.push(() => {
      journal.close();
      return Promise.resolve();
    });
    this.bridge = new CniBridge({
      clock: systemClock,
      logger,
      journal,
      plugins: this.plugins,
      limits: this.#limits,
      events: {
        onPlugin: (event) => void this.pluginEvents.push(event),
        onAttachment: (event) => void this.attachmentEvents.push(event),
        onNetwork: (event) => void this.networkEvents.push(event),
      },
    });
    return this.bridge;
  }

  /**
   * Makes the bridge ready to serve the chain: `scripts` by plugin name, in order. Each records its call and its
   * input.
   */
  async serve(scripts: Record<string, string>, network: Record<string, unknown> = {}): Promise<this> {
    for (const [name, script] of Object.entries(scripts)) {
      this.script(name, script);
    }
    const plugins = Object.keys(scripts).map((type) => ({ type }));
    this.configure({ cniVersion: '1.0.0', name: 'pods', plugins, ...network });
    await (
      await this.bridge.recover()
    ).removals;
    return this;
  }

  script(name: string, script: string): void {
    const notes = `cat > ${this.path(name)}.$CNI_COMMAND.stdin\necho $CNI_COMMAND ${name} $CNI_CONTAINERID >> ${this.path('calls')}`;
    writeFileSync(join(this.folder, 'plugins', name), `#!/bin/sh\n${notes}\n${script}\n`, { mode: 0o755 });
  }

  configure(...networks: unknown[]): void {
    this.bridge.useFiles(
      networks.map((network, at) => ({
        name: `${at}.conflist`,
        content: typeof network === 'string' ? network : JSON.stringify(network),
      })),
    );
  }

  call(command: string, containerId = 'c1', change: Partial<Invocation> = {}): Promise<PluginOutput> {
    return this.bridge.handle({
      command,
      containerId,
      netns: '/run/netns/a',
      ifname: 'eth0',
      args: 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=u1',
      path: '',
      stdin: '{"cniVersion":"1.0.0"}',
      name: 'kubus-cni',
      ...change,
    });
  }

  /** Starts a call through a shim; resolves when the bridge has received it. */
  async startShim(command: string, containerId: string): Promise<ChildProcess> {
    const shims = this.path('shims');
    execFileSync(process.execPath, [
      join(import.meta.dirname, '../../../packages/adapters/cni/scripts/build-shim.mjs'),
      shims,
    ]);
    const socketPath = this.path('run/cni.sock');
    await linkShimSocket(shims, socketPath);
    const called = Promise.withResolvers<undefined>();
    const quiet = () => undefined;
    const logger: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet, child: () => logger };
    const server = new ShimServer({
      socketPath,
      logger,
      handle: (call, shim) => {
        const answer = this.bridge.handle(call, this.plugins.through(shim));
        called.resolve(undefined);
        return answer;
      },
    });
    await server.listen();
    this.#ends.push(() => server.close());
    const env = { CNI_COMMAND: command, CNI_CONTAINERID: containerId, CNI_NETNS: '/run/netns/a', CNI_IFNAME: 'eth0' };
    const child = spawn(join(shims, 'kubus-cni'), { env });
    const ended = once(child, 'exit');
    this.#ends.push(() => {
      child.kill('SIGKILL');
      return ended;
    });
    child.stdin.end('{"cniVersion":"1.0.0"}');
    await called.promise;
    return child;
  }

  /** A failed call's error. */
  async failure(...call: Parameters<ScriptedBridge['call']>): Promise<unknown> {
    const { exitCode, stdout } = await this.call(...call);
    if (exitCode === 0) {
      throw new Error(`the call succeeded: ${stdout}`);
    }
    return JSON.parse(stdout);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** The folder of the journal. */
  get journal(): string {
    return join(this.folder, 'journal');
  }

  get journalFile(): string {
    return join(this.journal, 'attachments.jsonl');
  }

  /** The records in the journal. */
  records(): unknown[] {
    return [...recordsIn(this.journalFile).values()];
  }

  /** The calls of plugins so far, as "ADD bridge c1". */
  calls(): string[] {
    return readFileSync(this.path('calls'), 'utf8').trim().split('\n').filter(Boolean);
  }

  stdin(plugin: string, command: string): unknown {
    return JSON.parse(readFileSync(`${this.path(plugin)}.${command}.stdin`, 'utf8'));
  }

  /** Makes scripts wait: a container's plugin continues once the gate has been opened for it. */
  gate(): { readonly wait: string; readonly open: (containerId: string) => void } {
    const path = this.path('gate');
    return {
      wait: `while [ ! -e ${path}.$CNI_CONTAINERID ]; do sleep 0.01; done`,
      open: (containerId) => writeFileSync(`${path}.${containerId}`, ''),
    };
  }

  async close(): Promise<void> {
    this.bridge.stop();
    await Promise.all(this.#ends.map((end) => end()));
    await endStrays(this.folder);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Resolves when `condition` holds; it can only change while other processes run. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
