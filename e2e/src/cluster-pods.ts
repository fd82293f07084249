import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { PodSpec } from '@kubus/contracts';
import { listMounts } from '@kubus/filesystem';
import { type WatchedPod, isReady } from '@kubus/harness';
import type { ClusterNode } from './cluster-node.ts';
import { pod, shell } from './pods.ts';

/** Pods of the cluster that are bound to its node. */
export class ClusterPods {
  readonly #parts: ClusterNode;

  constructor(parts: ClusterNode) {
    this.#parts = parts;
  }

  /** Creates a pod that is bound to the node, as by a scheduler. */
  async create(manifest: object): Promise<void> {
    const { node, cluster } = this.#parts;
    const { spec, ...rest } = manifest as { spec: object };
    await cluster.api.create({ ...rest, spec: { ...spec, nodeName: node.name } });
  }

  /** Creates a pod that is bound to the node, and waits until `isWanted` holds there. Default: until it is ready. */
  async run(
    name: string,
    spec: Partial<PodSpec>,
    isWanted: (one: WatchedPod) => boolean = isReady,
  ): Promise<WatchedPod> {
    await this.create(pod(name, spec));
    return this.#parts.node.watch.waitForPod(name, isWanted);
  }

  /** Deletes a pod, waits for its end, and expects that nothing of it is mounted any more. */
  async remove({ ref }: WatchedPod): Promise<void> {
    const { node, cluster } = this.#parts;
    await cluster.api.delete({ kind: 'Pod', name: ref.name });
    await node.watch.until('nothing of it on the node', () =>
      node.watch.pod(ref.uid) === undefined ? true : undefined,
    );
    expect(await this.mountsOf(ref.uid)).toEqual([]);
  }

  /** The relative paths of mounts below the pod's folder. */
  mountsOf(uid: string): Promise<string[]> {
    return this.mountsBelow(join('pods', uid));
  }

  /** The relative paths of mounts below a folder in the node's folder for pods, each as often as it is mounted. */
  async mountsBelow(folder: string): Promise<string[]> {
    const beginning = `${join(this.#parts.node.dir.pods, folder)}/`;
    const targets = (await listMounts()).map(({ target }) => target);
    return targets.filter((target) => target.startsWith(beginning)).map((target) => target.slice(beginning.length));
  }

  /** The output of a shell line in a container, line by line. */
  async inside(name: string, container: string, line: string): Promise<string[]> {
    const { stdout } = await this.#parts.node.kubus('exec', name, '-c', container, '--', ...shell(line));
    return stdout.trim().split('\n');
  }
}
