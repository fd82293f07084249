import type { RunPod, Workload } from '@kubus/experiment';
import { KubeClient, kubePath } from '@kubus/kube';
import { silentLogger } from '@kubus/ports';
import { systemClock } from '@kubus/service-kit';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeFolder } from './experiment-nodes.ts';

/** Where the pods of an experiment are created and removed. */
export interface PodSource {
  create(pod: RunPod): Promise<void>;
  remove(pod: RunPod): Promise<void>;
  close(): Promise<void>;
}

export async function podSource(from: Workload['from'], { manifests, kubeconfig }: NodeFolder): Promise<PodSource> {
  if (from === 'files') return new ManifestFolder(manifests);
  return new NodeApi(
    await KubeClient.open({ kubeconfig, userAgent: 'kubus-experiment', clock: systemClock, logger: silentLogger }),
  );
}

/** Files in the node's manifest folder: static pods. */
class ManifestFolder implements PodSource {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The file is renamed into place so that it is never read half written. */
  async create({ name, manifest }: RunPod): Promise<void> {
    const part = join(this.#folder, `.${name}.new`);
    await writeFile(part, JSON.stringify(manifest));
    await rename(part, this.#file(name));
  }

  async remove({ name }: RunPod): Promise<void> {
    await rm(this.#file(name), { force: true });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #file(name: string): string {
    return join(this.#folder, `${name}.json`);
  }
}

/** The node's own Kubernetes API. */
class NodeApi implements PodSource {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  async create({ manifest }: RunPod): Promise<void> {
    await this.#client.request({ method: 'POST', path: kubePath(podsOf(manifest)), body: manifest });
  }

  async remove({ name, manifest }: RunPod): Promise<void> {
    await this.#client.request({ method: 'DELETE', path: kubePath({ ...podsOf(manifest), name }) });
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

function podsOf({ metadata }: RunPod['manifest']) {
  return { version: 'v1', namespace: metadata.namespace ?? 'default', resource: 'pods' };
}
