import type { Step } from '../sync/step.ts';
import { removeSandboxes, stopSandboxes } from '../sandbox/sandbox-removal.ts';
import { type RemovalSync, removeContainers } from './container-removal.ts';
import { type StopSync, asStops, stopContainers } from './container-stop.ts';

/** Stops and removes what the pod must not have, or everything when its sandbox has to be replaced. */
export const endUnneededStep: Step<RemovalSync & StopSync> = {
  run: async (sync, { runtime, actions }) => {
    if (actions.killPod) {
      await stopContainers(sync, asStops(runtime?.containers), { ordered: true });
      await stopSandboxes(sync, runtime?.sandboxes ?? []);
    } else {
      await stopContainers(sync, actions.stop, { ordered: false });
    }
    await removeContainers(sync, actions.remove.containers, { logs: false });
    await removeSandboxes(sync, actions.remove.sandboxes);
  },
};
