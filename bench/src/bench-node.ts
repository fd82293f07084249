import { ownerOf } from '@kubus/admission';
import { HEADER, type WireMessage } from '@kubus/bus';
import { PEOPLE, connectNats, fromNats, inboxPrefix, nodeSubject, readRecord, readSeed } from '@kubus/bus-nats';
import { podTimeline } from '@kubus/causality';
import { keyOf, podPatterns, podStatus, podStatusReportSchema, podWorker, serviceInstance } from '@kubus/contracts';
import type { PodTimeline } from '@kubus/contracts/observatory';
import {
  NATS_PORT,
  Tunnel,
  makeTestFolder,
  removeTestFolder,
  runKubus,
  sweepTestFolders,
  testNode,
} from '@kubus/harness';
import { type NodeDir, identitiesFolder } from '@kubus/launcher';
import type { NatsConnection } from '@nats-io/nats-core';
import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { benchManifest } from './bench-pod.ts';
import { agentProcesses } from './process-usage.ts';
import type { Subject } from './subject.ts';

/** How long a service may take to answer a discovery request, in milliseconds. */
const ANSWER_MS = 5_000;

/** A whole node as `kubus up` starts it, observed from outside with as little disturbance as possible. */
export class BenchNode implements Subject {
  readonly dir: NodeDir;
  readonly #folder: string;
  readonly #tunnel: Tunnel;
  readonly #connection: NatsConnection;
  readonly #uids = new Map<string, string>();
  readonly #awaited = new Map<string, (at: number) => void>();
  /** Pod UID to the instance of pod-workers that published its state last. */
  readonly #workers = new Map<string, string>();
  #moved: { readonly instances: readonly string[]; readonly done: (at: number) => void } | undefined;

  /** @param flags of `kubus up` */
  static async start(...flags: string[]): Promise<BenchNode> {
    await sweepTestFolders();
    const folder = await makeTestFolder();
    try {
      await mkdir(manifestsOf(folder));
      const api = flags.includes('--api') ? [] : ['--no-api'];
      const { code, stdout, stderr } = await runKubus(folder, [
        'up',
        '--manifests',
        manifestsOf(folder),
        ...api,
        ...flags,
      ]).outcome;
      if (code !== 0) throw new Error(`kubus up failed (${code}):\n${stdout}${stderr}`);
      const dir = testNode(folder);
      const tunnel = await Tunnel.open(dir);
      const seed = await readSeed(identitiesFolder(dir), PEOPLE);
      const servers = `127.0.0.1:${await tunnel.expose(NATS_PORT)}`;
      return new BenchNode(folder, tunnel, await connectNats({ servers, instance: PEOPLE, seed }));
    } catch (error) {
      await removeTestFolder(folder);
      throw error;
    }
  }

  private constructor(folder: string, tunnel: Tunnel, connection: NatsConnection) {
    this.#folder = folder;
    this.dir = testNode(folder);
    this.#tunnel = tunnel;
    this.#connection = connection;
    for (const { area, name } of [podStatus, podWorker, serviceInstance]) {
      connection.subscribe(nodeSubject(this.dir.node, `${area}.fact.${name}.*`), {
        callback: (error, wire) => {
          if (error === null) this.#take(fromNats(wire));
        },
      });
    }
  }

  async create(name: string): Promise<number> {
    const file = join(manifestsOf(this.#folder), `${name}.json`);
    const part = join(this.#folder, `${name}.part`);
    await writeFile(part, benchManifest(name));
    const begin = performance.now();
    const ready = this.#until(`ready ${name}`);
    await rename(part, file);
    return (await ready) - begin;
  }

  async remove(name: string): Promise<number> {
    const begin = performance.now();
    const removed = this.#until(`removed ${name}`);
    await rm(join(manifestsOf(this.#folder), `${name}.json`));
    return (await removed) - begin;
  }

  /** Kills a service; resolves with the milliseconds until it has announced itself again. */
  async kill(service: string): Promise<number> {
    const pid = (await agentProcesses(this.dir)).get(service);
    if (pid === undefined) throw new Error(`no process ${service} runs`);
    const begin = performance.now();
    const back = this.#until(`back ${service}`);
    process.kill(pid, 'SIGKILL');
    return (await back) - begin;
  }

  /**
   * Calls `act`; resolves with the milliseconds until every pod is published by the one of these worker instances that owns it.
   */
  async moved(instances: readonly string[], act: () => Promise<unknown>): Promise<number> {
    const begin = performance.now();
    const moved = new Promise<number>((done) => (this.#moved = { instances, done }));
    await act();
    this.#checkMoved(performance.now());
    return (await moved) - begin;
  }

  /** How long after the last of all other services this one announced itself when the node started, in milliseconds; negative: before. */
  async readyAfterOthers(service: string): Promise<number> {
    const pattern = `${serviceInstance.area}.fact.${serviceInstance.name}.*`;
    const inbox = `${inboxPrefix(PEOPLE)}.${randomBytes(8).toString('hex')}`;
    const first = new Map<string, number>();
    for (const { stored, message } of await readRecord(this.#connection, this.dir.node, [pattern], inbox)) {
      const name = keyOf(message.subject).replace(/-\d+$/, '');
      if (!first.has(name)) first.set(name, stored);
    }
    const { [service]: own = Number.NaN, ...others } = Object.fromEntries(first);
    return own - Math.max(...Object.values(others));
  }

  /** Sets the number of instances of a service. */
  async scale(service: string, count: number): Promise<void> {
    const { code, stderr } = await runKubus(this.#folder, ['scale', service, String(count)]).outcome;
    if (code !== 0) throw new Error(`kubus scale failed (${code}):\n${stderr}`);
  }

  /** Number of calls of cri-bridge to the runtime since its start. */
  async criCalls(): Promise<number> {
    const samples = [...(await this.metrics('cri-bridge')).matchAll(/^kubus_cri_calls_total\{.*\} (\d+)$/gm)];
    return samples.reduce((sum, [, value]) => sum + Number(value), 0);
  }

  /** The metrics of a service's first instance, in Prometheus' text format. */
  async metrics(service: string): Promise<string> {
    const info = await this.#connection.request(`$SRV.INFO.${service}.${service}-0`, '', { timeout: ANSWER_MS });
    const { metadata } = info.json<{ metadata: { http: string } }>();
    return (await this.#tunnel.get(`${metadata.http}/metrics`)).body;
  }

  /** A pod's critical paths, from the messages about it in the node's record. */
  async story(name: string): Promise<PodTimeline> {
    const uid = [...this.#uids].find(([, one]) => one === name)?.[0] ?? '';
    const inbox = `${inboxPrefix(PEOPLE)}.${randomBytes(8).toString('hex')}`;
    const messages = await readRecord(this.#connection, this.dir.node, podPatterns(uid), inbox);
    return podTimeline(uid, messages);
  }

  async stop(): Promise<void> {
    await this.#connection.close();
    await this.#tunnel.close();
    await runKubus(this.#folder, ['down']).outcome;
    await removeTestFolder(this.#folder);
  }

  #checkMoved(at: number): void {
    const { instances, done } = this.#moved ?? {};
    if (instances === undefined) return;
    if ([...this.#workers].some(([uid, worker]) => worker !== ownerOf(uid, instances))) return;
    this.#moved = undefined;
    done?.(at);
  }

  #until(what: string): Promise<number> {
    return new Promise((resolve) => this.#awaited.set(what, resolve));
  }

  #take(message: WireMessage): void {
    const at = performance.now();
    const key = keyOf(message.subject);
    const done = (what: string) => {
      this.#awaited.get(what)?.(at);
      this.#awaited.delete(what);
    };
    if (isOf(message, podWorker)) {
      if (message.headers[HEADER.removed] !== undefined) this.#workers.delete(key);
      else this.#workers.set(key, message.headers[HEADER.source] ?? '');
      this.#checkMoved(at);
    } else if (message.headers[HEADER.type]?.startsWith('service.') === true) {
      done(`back ${key.replace(/-\d+$/, '')}`);
    } else if (message.headers[HEADER.removed] !== undefined) {
      done(`removed ${this.#uids.get(key) ?? ''}`);
    } else {
      const name = readyPod(message)?.replace(`-${this.dir.node}`, '');
      if (name === undefined) return;
      this.#uids.set(key, name);
      done(`ready ${name}`);
    }
  }
}

function isOf({ headers }: WireMessage, { area, name }: { readonly area: string; readonly name: string }): boolean {
  return headers[HEADER.type]?.startsWith(`${area}.fact.${name}/`) === true;
}

function manifestsOf(folder: string): string {
  return join(folder, 'manifests');
}

/** The name of the pod that a message reports as Ready; undefined for any other message. */
function readyPod(message: WireMessage): string | undefined {
  if (!isOf(message, podStatus)) return undefined;
  const report = podStatusReportSchema.safeParse(message.data === '' ? undefined : JSON.parse(message.data));
  const conditions = report.data?.status.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
    ? report.data?.ref.name
    : undefined;
}
