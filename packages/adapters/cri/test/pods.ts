import type { ContainerConfig, PodSandboxConfig } from '@kubus/proto/cri';
import type { CriClient } from '../src/index.ts';
import { BUSYBOX_IMAGE, type TestContainerd } from './containerd.ts';

export function podConfig(runtime: TestContainerd, name: string): PodSandboxConfig {
  return {
    metadata: { name, uid: `uid-${name}`, namespace: 'default', attempt: 0 },
    logDirectory: `${runtime.folder}/logs/${name}`,
    labels: { 'io.kubernetes.pod.uid': `uid-${name}` },
    linux: { cgroupParent: runtime.cgroupParent },
  };
}

export function containerConfig(name: string, command: string[], more: ContainerConfig = {}): ContainerConfig {
  return {
    metadata: { name, attempt: 0 },
    image: { image: BUSYBOX_IMAGE },
    command,
    logPath: `${name}.log`,
    labels: { 'io.kubernetes.container.name': name },
    ...more,
  };
}

/** A string that the runtime always sets; the types of the JSON form make every field optional. */
export function given(text: string | undefined): string {
  if (text === undefined || text === '') {
    throw new Error('the runtime left out an id');
  }
  return text;
}

export async function runSandbox(client: CriClient, config: PodSandboxConfig): Promise<string> {
  return given((await client.call('RunPodSandbox', { config })).podSandboxId);
}

export async function createContainer(
  client: CriClient,
  podSandboxId: string,
  sandboxConfig: PodSandboxConfig,
  config: ContainerConfig,
): Promise<string> {
  return given((await client.call('CreateContainer', { podSandboxId, config, sandboxConfig })).containerId);
}

/** Resolves when the client is connected. */
export async function connected(client: CriClient): Promise<CriClient> {
  await connectionBecomes(client, 'connected');
  return client;
}

export function connectionBecomes(client: CriClient, wanted: CriClient['connection']): Promise<void> {
  return new Promise((resolve) => {
    const stop = client.watchConnection((connection) => {
      if (connection === wanted) {
        resolve();
        queueMicrotask(() => stop());
      }
    });
  });
}
