import type { Pod, RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import { ANNOTATION } from '../src/annotations.ts';
import { containerHash } from '../src/container-hash.ts';

/** Short forms for pods and runtime states in tests. */
export function pod(spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: { name: 'p', namespace: 'default', uid: 'u1', ...metadata },
    spec: { containers: [{ name: 'c', image: 'busybox' }], ...spec },
  };
}

export function sandbox(overrides: Partial<RuntimeSandbox> = {}): RuntimeSandbox {
  return {
    id: 's0',
    attempt: 0,
    ready: true,
    createdAt: '1',
    ips: ['10.88.0.2'],
    hostNetwork: false,
    runtimeHandler: '',
    ...overrides,
  };
}

export function run(overrides: Partial<RuntimeContainer> = {}): RuntimeContainer {
  const name = overrides.name ?? 'c';
  return {
    id: `${name}-${overrides.attempt ?? 0}`,
    name,
    attempt: 0,
    sandboxId: 's0',
    state: 'running',
    createdAt: '1',
    startedAt: '2',
    finishedAt: '0',
    exitCode: 0,
    reason: '',
    message: '',
    image: 'busybox',
    imageRef: 'sha256:b',
    imageId: 'sha256:b',
    logPath: '',
    annotations: { [ANNOTATION.hash]: containerHash({ name, image: 'busybox' }) },
    ...overrides,
  };
}

export function exited(exitCode: number, overrides: Partial<RuntimeContainer> = {}): RuntimeContainer {
  return run({ state: 'exited', exitCode, finishedAt: '3', ...overrides });
}

export function runtime(containers: RuntimeContainer[], sandboxes: RuntimeSandbox[] = [sandbox()]): RuntimePod {
  const ref = { namespace: 'default', name: 'p', uid: 'u1' };
  return { ref, stamp: { epoch: 1, counter: 1 }, sandboxes, containers };
}
