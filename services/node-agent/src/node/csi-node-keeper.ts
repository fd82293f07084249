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
import { retryOnConflict } from './retry-on-conflict.ts';

const CSI_NODES = kubePath({ group: 'storage.k8s.io', version: 'v1', resource: 'csinodes' });

export interface CsiNodeKeeperOptions {
  readonly client: KubeRequester;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'fraction'>;
  readonly logger: Logger;
  /** The known Node object; undefined: there is none, so no CSINode either. */
  readonly node: () => NodeObject | undefined;
  readonly known: () => KnownPlugins;
  /** Timeout of one request, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Keeps the node's CSINode object up to date, which lists the node's CSI drivers for the cluster
 * (behaviour:qos-and-cgroups, CSI node).
 */
export class CsiNodeKeeper {
  readonly #options: CsiNodeKeeperOptions;
  readonly #writing: Repeater;

  constructor(options: CsiNodeKeeperOptions) {
    this.#options = options;
    const failed = 'cannot write the CSINode';
    this.#writing = new Repeater({ ...options, failed, act: () => this.#write() });
  }

  stop(): void {
    this.#writing.stop();
  }

  /** Updates the CSINode: to be called when the Node object or the drivers have changed. */
  update(): void {
    if (this.#options.node() !== undefined) this.#writing.now();
  }

  async #write(): Promise<undefined> {
    await retryOnConflict(() => this.#bringInLine());
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

  /** Removes the CSINode of an earlier Node, which the cluster has not cleaned up yet. */
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
