import type { RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';

/** A pod that is shown: its newest sandbox that is ready, or the newest one at all, and the containers that run. */
export interface ShownPod {
  readonly pod: RuntimePod;
  readonly sandbox: RuntimeSandbox;
  readonly containers: readonly RuntimeContainer[];
}

/**
 * The pods of which something can be told (kubelet behaviour 1.20, "Terminated in summary"): containers that do not run are left
 * out, and of pods with the same name all those that have a sandbox that is ready, or else the newest one.
 */
export function shownPods(pods: Iterable<RuntimePod>): ShownPod[] {
  const byName = new Map<string, ShownPod[]>();
  for (const pod of pods) {
    const sandbox = pod.sandboxes.find(({ ready }) => ready) ?? pod.sandboxes[0];
    if (sandbox === undefined) continue;
    const name = `${pod.ref.namespace}/${pod.ref.name}`;
    const containers = pod.containers.filter(({ state }) => state === 'running');
    byName.set(name, [...(byName.get(name) ?? []), { pod, sandbox, containers }]);
  }
  return [...byName.values()].flatMap((same) => {
    const ready = same.filter(({ sandbox }) => sandbox.ready);
    if (ready.length > 0) return ready;
    return same.reduce((a, b) => (BigInt(a.sandbox.createdAt) < BigInt(b.sandbox.createdAt) ? b : a));
  });
}
