import { KubeError, type KubeRequester, kubePath } from '@kubus/kube';
import {
  type CsiNode,
  type KnownPlugins,
  type NodeObject,
  belongsTo,
  csiNodeSchema,
  csiNodeWrites,
  newCsiNode,
  topologyProblem,
} from '@kubus/node-status';
import type { Clock, Ids, Logger } from '@kubus/ports';
import { Repeater } from './repeater.ts';

/** Tries of one write that others have got in the way of. */
const TRIES = 5;
/** Somebody else has written, made or deleted it: what it is like now has to be read. */
const CHANGED = ['Conflict', 'NotFound', 'AlreadyExists'];
const CSI_NODES = kubePath({ group: 'storage.k8s.io', version: 'v1', resource: 'csinodes' });

export interface CsiNodeKeeperOptions {
  readonly client: KubeRequester;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'fraction'>;
  readonly logger: Logger;
  /** The Node as it is known; undefined: there is none, and no CSINode. */
  readonly node: () => NodeObject | undefined;
  readonly known: () => KnownPlugins;
  /** Milliseconds that one request may take. */
  readonly timeoutMs: number;
}

/** Keeps the node's CSINode: by it the cluster knows which CSI drivers the node has (kubelet behaviour 1.20, CSI node). */
export class CsiNodeKeeper {
  readonly #options: CsiNodeKeeperOptions;
  readonly #writing: Repeater;

  constructor(options: CsiNodeKeeperOptions) {
    this.#options = options;
    const failed = 'the CSINode could not be written';
    this.#writing = new Repeater({ ...options, failed, act: () => this.#write() });
  }

  stop(): void {
    this.#writing.stop();
  }

  /** Brings it in line: to be called when there is another Node, and when its drivers are others. */
  update(): void {
    if (this.#options.node() !== undefined) this.#writing.now();
  }

  async #write(): Promise<undefined> {
    for (let left = TRIES; ; left--) {
      try {
        await this.#bringInLine();
        return;
      } catch (error) {
        const reason = error instanceof KubeError ? error.reason : undefined;
        if (left === 1 || reason === undefined || !CHANGED.includes(reason)) throw error;
      }
    }
  }

  async #bringInLine(): Promise<void> {
    const node = this.#options.node();
    if (node === undefined) return;
    const known = this.#options.known();
    for (const plugin of known.plugins) {
      const problem = topologyProblem(node.metadata.labels ?? {}, plugin);
      if (problem !== undefined) this.#options.logger.error({ driver: plugin.driver }, problem);
    }
    const existing = await this.#read(node.metadata.name);
    if (existing !== undefined && belongsTo(existing, node.metadata)) {
      let { resourceVersion } = existing.metadata;
      for (const write of csiNodeWrites(existing, node, known)) {
        const body = { ...write, metadata: { ...write.metadata, resourceVersion } };
        const answer = csiNodeSchema.parse(await this.#request('PUT', pathOf(node.metadata.name), body));
        resourceVersion = answer.metadata['resourceVersion'];
      }
      return;
    }
    if (existing !== undefined) await this.#remove(existing);
    await this.#request('POST', CSI_NODES, newCsiNode(node, known));
  }

  async #read(name: string): Promise<CsiNode | undefined> {
    try {
      return csiNodeSchema.parse(await this.#request('GET', pathOf(name)));
    } catch (error) {
      if (error instanceof KubeError && error.reason === 'NotFound') return undefined;
      throw error;
    }
  }

  /** It was that of an earlier Node, which the cluster has not cleaned up yet. */
  async #remove({ metadata }: CsiNode): Promise<void> {
    const preconditions = { uid: metadata.uid };
    await this.#request('DELETE', pathOf(metadata.name), { kind: 'DeleteOptions', apiVersion: 'v1', preconditions });
  }

  #request(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<unknown> {
    const { client, timeoutMs } = this.#options;
    return client.request({ method, path, timeoutMs, ...(body !== undefined && { body }) });
  }
}

function pathOf(name: string): string {
  return `${CSI_NODES}/${encodeURIComponent(name)}`;
}
