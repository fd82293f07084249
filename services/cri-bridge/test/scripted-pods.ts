import type { Container, ContainerState } from '@kubus/proto/cri';
import { ScriptedRuntime } from './scripted-runtime.ts';

/** A sandbox and one container of a pod. */
interface ScriptedPod {
  readonly sandboxReady: boolean;
  readonly container: ContainerState;
}

/** A runtime that has pods: the sandbox `s-<uid>` with the container `c-<uid>` of each. */
export class ScriptedPods extends ScriptedRuntime {
  readonly pods = new Map<string, ScriptedPod>();
  /** What the next reads wait for, or fail with. */
  before: () => Promise<void> = () => Promise.resolve();

  constructor() {
    super();
    this.on('ListPodSandbox', async ({ filter }) => {
      await this.before();
      return {
        items: this.#of(filter?.labelSelector).map(([uid, pod]) => ({
          id: `s-${uid}`,
          labels: labelsOf(uid),
          state: pod.sandboxReady ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
        })),
      };
    });
    this.on('ListContainers', async ({ filter }) => {
      await this.before();
      return { containers: this.#of(filter?.labelSelector).map(([uid, pod]) => listed(uid, pod)) };
    });
    this.on('PodSandboxStatus', ({ podSandboxId = '' }) => {
      const ready = this.pods.get(podSandboxId.slice(2))?.sandboxReady === true;
      return { status: { id: podSandboxId, state: ready ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY' } };
    });
    this.on('ContainerStatus', ({ containerId = '' }) => {
      const uid = containerId.slice(2);
      const state = this.pods.get(uid)?.container ?? 'CONTAINER_UNKNOWN';
      return { status: { id: containerId, labels: labelsOf(uid), metadata: { name: 'main', attempt: 0 }, state } };
    });
  }

  set(uid: string, container: ContainerState = 'CONTAINER_RUNNING', sandboxReady = true): void {
    this.pods.set(uid, { container, sandboxReady });
  }

  /** How often single pods were read, and all were listed. */
  get reads(): { pods: string[]; lists: number } {
    const filters = this.calls.filter(({ method }) => method === 'ListContainers');
    const uids = filters.map(
      ({ request }) => (request as { filter?: { labelSelector?: Record<string, string> } }).filter?.labelSelector,
    );
    return {
      pods: uids.flatMap((selector) => selector?.['io.kubernetes.pod.uid'] ?? []),
      lists: uids.filter((selector) => selector === undefined).length,
    };
  }

  #of(selector: Record<string, string> | undefined): [string, ScriptedPod][] {
    const uid = selector?.['io.kubernetes.pod.uid'];
    return [...this.pods].filter(([one]) => uid === undefined || uid === one);
  }
}

function listed(uid: string, pod: ScriptedPod): Container {
  return { id: `c-${uid}`, podSandboxId: `s-${uid}`, labels: labelsOf(uid), state: pod.container };
}

/** The labels that a container or sandbox of the pod has. */
export function labelsOf(uid: string): Record<string, string> {
  return {
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.pod.name': `pod-${uid}`,
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.container.name': 'main',
  };
}
