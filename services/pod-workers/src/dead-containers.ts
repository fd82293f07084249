import type { RuntimeContainer, RuntimeSandbox } from '@kubus/contracts';
import type { Pass } from './pass.ts';

/** Removes dead containers and what their runs have left; with `logs` that stays, because another run of them follows. */
export async function removeContainers(
  pass: Pass,
  containers: readonly RuntimeContainer[],
  keep: { readonly logs: boolean },
): Promise<void> {
  for (const container of containers) {
    await pass.runtime.change('RemoveContainer', { containerId: container.id }, pass.runtime.cause);
    if (!keep.logs) await pass.deps.files.removeRun(pass.ref, container);
  }
}

/** Removes sandboxes that nobody needs. They are stopped first, also those that are not ready: their network may be left. */
export async function removeSandboxes(pass: Pass, sandboxes: readonly RuntimeSandbox[]): Promise<void> {
  for (const { id } of sandboxes) {
    await pass.runtime.change('StopPodSandbox', { podSandboxId: id }, pass.runtime.cause);
    await pass.runtime.change('RemovePodSandbox', { podSandboxId: id }, pass.runtime.cause);
  }
}
