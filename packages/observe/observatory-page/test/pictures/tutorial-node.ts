import type { MessagePage, PodSummary } from '@kubus/contracts/observatory';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const checkout = resolve(import.meta.dirname, '../../../../..');
const kubus = join(checkout, 'kubus');

/** How often pods are checked for readiness. */
const againMs = 200;

interface OpenPage {
  readonly base: string;
  readonly token: string;
  end(): Promise<void>;
}

/** The node of the tutorial, with its own name and folders, and the page that shows it. */
export class TutorialNode {
  readonly name = 'tutorial';
  readonly #folder: string;
  #page: OpenPage | undefined;

  static async start(): Promise<TutorialNode> {
    const node = new TutorialNode(await mkdtemp(join(tmpdir(), 'kubus-pictures-')));
    try {
      await mkdir(node.#pods);
      await node.#kubus('up', '--observatory', '--faults', '--manifests', node.#pods);
      return node;
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Of the page, with its token. */
  async address(): Promise<string> {
    const { base, token } = await this.#opened();
    return `${base}/#token=${token}`;
  }

  /** Runs the commands of the tutorial in the folder of this node's pods. */
  async write(command: string): Promise<void> {
    await run('bash', ['-euc', command.replaceAll('/tmp/pods', this.#pods)]);
  }

  async pods(): Promise<PodSummary[]> {
    return this.#ask('/recordings/~live/pods');
  }

  /** Waits until each manifest has a pod that is Ready. */
  async allReady(): Promise<void> {
    const wanted = (await readdir(this.#pods)).length;
    while ((await this.pods()).filter(({ ready }) => ready === true).length < wanted) await setTimeout(againMs);
  }

  /** Sequence of the first message of that type about the pod. */
  async firstMessage(pod: string, type: string): Promise<number> {
    const { messages } = await this.#ask<MessagePage>(`/recordings/~live/messages?pod=${pod}&type=${type}`);
    const [first] = messages;
    if (first === undefined) throw new Error(`no service has published ${type} about the pod ${pod}`);
    return first.seq;
  }

  async delayRuntimeFacts(): Promise<void> {
    await this.#kubus('fault', 'delay', 'runtime.fact.pod.*', '--by', '500ms', '--reader', 'sync-loop', '--id', 'late');
  }

  async stop(): Promise<void> {
    await this.#page?.end();
    await this.#kubus('down');
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #pods(): string {
    return join(this.#folder, 'pods');
  }

  get #environment(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      KUBUS_NODE: this.name,
      KUBUS_LIB_DIR: join(this.#folder, 'lib'),
      KUBUS_RUN_DIR: join(this.#folder, 'run'),
    };
  }

  async #opened(): Promise<OpenPage> {
    if (this.#page !== undefined) return this.#page;
    const args = ['observatory', '--port', '0'];
    const child = spawn(kubus, args, { env: this.#environment, stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface(child.stdout)) {
      const [, base, token] = /^(http:\S+)\/#token=(\S+)$/.exec(line) ?? [];
      if (base === undefined || token === undefined) continue;
      const end = async () => {
        const ended = once(child, 'exit');
        child.kill();
        await ended;
      };
      return (this.#page = { base, token, end });
    }
    throw new Error('kubus observatory has printed no address');
  }

  async #ask<T>(path: string): Promise<T> {
    const { base, token } = await this.#opened();
    const answer = await fetch(`${base}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  async #kubus(...args: string[]): Promise<void> {
    await run(kubus, args, { env: this.#environment });
  }
}
