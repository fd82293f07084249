import type { RuntimeContainer } from '@kubus/contracts';

/** A container as the runtime lists it. */
export function runOf(id: string, logPath: string, state: RuntimeContainer['state'] = 'running'): RuntimeContainer {
  return {
    ...{ id, name: 'main', attempt: 0, sandboxId: 'sandbox', state, createdAt: '1', startedAt: '1' },
    ...{ finishedAt: '0', exitCode: 0, reason: '', message: '', image: 'busybox', imageRef: 'busybox' },
    ...{ imageId: 'sha256:abc', logPath, annotations: {} },
  };
}
