import { runtimeHandler } from '@kubus/launcher';
import { busyboxReference, callCriOnce } from '@kubus/node-images';
import type { PodSandboxConfig } from '@kubus/proto/cri';
import type { TestRuntime } from '../src/test-runtime.ts';

export interface TestPod {
  readonly sandboxId: string;
  readonly containerId: string;
  readonly config: PodSandboxConfig;
}

export interface TestPodOptions {
  readonly uid: string;
  readonly handler?: string;
  /** Default: below the node's cgroup. */
  readonly cgroupParent?: string;
  readonly command?: readonly string[];
}

/** A sandbox with one running container, as a kubelet would create them. */
export async function runPod(
  { socket, dir }: Pick<TestRuntime, 'socket' | 'dir'>,
  {
    uid,
    handler = runtimeHandler,
    cgroupParent = `${dir.cgroupRoot}/pod${uid}`,
    command = ['sleep', '1000'],
  }: TestPodOptions,
): Promise<TestPod> {
  const labels = {
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.name': `pod-${uid}`,
    'io.kubernetes.pod.uid': uid,
  };
  const config: PodSandboxConfig = {
    metadata: { name: `pod-${uid}`, namespace: 'default', uid, attempt: 0 },
    logDirectory: `${dir.podLogs}/${uid}`,
    labels,
    linux: { cgroupParent },
  };
  const { podSandboxId = '' } = await callCriOnce(socket, 'RunPodSandbox', { config, runtimeHandler: handler });
  const { containerId = '' } = await callCriOnce(socket, 'CreateContainer', {
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: 'main', attempt: 0 },
      image: { image: busyboxReference },
      command: [...command],
      labels: { ...labels, 'io.kubernetes.container.name': 'main' },
      logPath: 'main.log',
    },
  });
  await callCriOnce(socket, 'StartContainer', { containerId });
  return { sandboxId: podSandboxId, containerId, config };
}
