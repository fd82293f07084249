import type { RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';

/** A pod that is shown: its newest ready sandbox, or its newest sandbox if none is ready, and its running containers. */
export interface ShownPod {
  readonly pod: RuntimePod;
  readonly sandbox: RuntimeSandbox;
  readonly containers: readonly RuntimeContainer[];
}

/**
 * The pods that can be shown (behaviour:qos-and-cgroups, "Terminated in summary"). Containers that are not running are omitted.
 * Of several pods with the same name, all those with a ready sandbox are shown, or otherwise the newest one.
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
