import type { RuntimeContainer, RuntimeSandbox } from '@kubus/contracts';
import { mayRun } from '@kubus/pod-lifecycle';
import { type Pass, recordEvent, unlessCancelled } from './pass.ts';

/** The least that a container gets between TERM and KILL (kubelet behaviour 1.6). */
const LEAST_SECONDS = 2;

/** Stops those of `containers` that may run, all at once. */
export async function stopContainers(
  pass: Pass,
  containers: readonly RuntimeContainer[],
  message?: string,
): Promise<void> {
  await Promise.all(
    containers.filter(mayRun).map(async (container) => {
      const { name, id } = container;
      const event = recordEvent(pass, {
        type: 'Normal',
        reason: 'Killing',
        message: message ?? `Stopping container ${name}`,
        container: { name },
      });
      const timeout = String(Math.max(LEAST_SECONDS, pass.graceSeconds));
      await unlessCancelled(pass, pass.runtime.change('StopContainer', { containerId: id, timeout }, [event]));
    }),
  );
}

/** Stops every sandbox: its network goes, and whatever still runs in it. */
export async function stopSandboxes(pass: Pass, sandboxes: readonly RuntimeSandbox[]): Promise<void> {
  for (const { id } of sandboxes) {
    await unlessCancelled(pass, pass.runtime.change('StopPodSandbox', { podSandboxId: id }, pass.runtime.cause));
  }
}
