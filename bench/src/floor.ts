import { containerConfig, sandboxConfig } from '@kubus/container-config';
import { podRefOf } from '@kubus/contracts';
import { type CriClient, connectCri } from '@kubus/cri';
import { type TestRuntime, startRuntime } from '@kubus/harness';
import { runtimeHandler } from '@kubus/launcher';
import { busyboxReference } from '@kubus/node-images';
import { logFolder } from '@kubus/pod';
import { createLogger, systemClock, systemIds } from '@kubus/service-kit';
import { mkdir } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { benchPod } from './bench-pod.ts';
import type { Subject } from './subject.ts';

/** Grace period of the pods in seconds; they exit at SIGTERM. */
const STOP_SECONDS = '30';

/**
 * The floor: only the CRI calls that a pod needs, sent directly to a containerd of the same version that runs the same CNI plugins itself. No
 * node agent can be faster.
 */
export class Floor implements Subject {
  readonly #runtime: TestRuntime;
  readonly #cri: CriClient;
  readonly #imageId: string;
  readonly #pods = new Map<string, { sandbox: string; container: string }>();

  static async start(): Promise<Floor> {
    const runtime = await startRuntime();
    const logger = createLogger({ service: 'bench', instance: 'floor', level: 'error' });
    const cri = connectCri({ socket: runtime.socket, logger, clock: systemClock, ids: systemIds });
    try {
      await connected(cri);
      const { image } = await cri.call('ImageStatus', { image: { image: busyboxReference } });
      return new Floor(runtime, cri, image?.id ?? '');
    } catch (error) {
      cri.close();
      await runtime.stop();
      throw error;
    }
  }

  private constructor(runtime: TestRuntime, cri: CriClient, imageId: string) {
    this.#runtime = runtime;
    this.#cri = cri;
    this.#imageId = imageId;
  }

  async create(name: string): Promise<number> {
    const pod = benchPod(name);
    const [wanted] = pod.spec.containers;
    if (wanted === undefined) throw new Error('the pod of the bench has no container');
    const { dir } = this.#runtime;
    const logDirectory = join(dir.podLogs, logFolder(podRefOf(pod)));
    const begin = performance.now();
    await mkdir(join(logDirectory, wanted.name), { recursive: true });
    const settings = { attempt: 0, logDirectory, cgroupParent: `${dir.cgroupRoot}/pod${pod.metadata.uid}` };
    const config = sandboxConfig(pod, settings);
    const request = { config, runtimeHandler };
    const { podSandboxId: sandbox = '' } = await this.#cri.call('RunPodSandbox', request);
    const { containerId: container = '' } = await this.#cri.call('CreateContainer', {
      podSandboxId: sandbox,
      config: containerConfig(pod, wanted, {
        attempt: 0,
        imageId: this.#imageId,
        memoryCapacity: BigInt(totalmem()),
      }),
      sandboxConfig: config,
    });
    await this.#cri.call('StartContainer', { containerId: container });
    this.#pods.set(name, { sandbox, container });
    return performance.now() - begin;
  }

  async remove(name: string): Promise<number> {
    const { sandbox, container } = this.#pods.get(name) ?? { sandbox: '', container: '' };
    const begin = performance.now();
    await this.#cri.call('StopContainer', { containerId: container, timeout: STOP_SECONDS });
    await this.#cri.call('StopPodSandbox', { podSandboxId: sandbox });
    await this.#cri.call('RemoveContainer', { containerId: container });
    await this.#cri.call('RemovePodSandbox', { podSandboxId: sandbox });
    this.#pods.delete(name);
    return performance.now() - begin;
  }

  async stop(): Promise<void> {
    this.#cri.close();
    await this.#runtime.stop();
  }
}

function connected(cri: CriClient): Promise<void> {
  return new Promise((resolve) => {
    const end = cri.watchConnection((state) => {
      if (state !== 'connected') return;
      resolve();
      setImmediate(() => end());
    });
  });
}
