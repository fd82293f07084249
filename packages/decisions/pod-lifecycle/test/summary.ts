import type { PodActions } from '../src/index.ts';

/** Actions as short texts, for tables. */
export function summary(actions: PodActions) {
  return {
    kill: actions.killPod,
    sandbox: actions.createSandbox?.attempt,
    stop: actions.stop.map(({ container }) => container.id),
    start: actions.start.map(
      ({ container, attempt, created }) => `${container.name}#${attempt}${created ? ' created' : ''}`,
    ),
    remove: [...actions.remove.containers, ...actions.remove.sandboxes].map(({ id }) => id),
  };
}

export const nothing = { kill: false, sandbox: undefined, stop: [], start: [], remove: [] };
