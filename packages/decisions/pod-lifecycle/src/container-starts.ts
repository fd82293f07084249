import type { RuntimeContainer, RuntimePod, RuntimeSandbox } from '@kubus/contracts';
import { type ContainerStart, type PodActionsOptions, nextAttempt } from './actions.ts';
import { ANNOTATION } from './annotations.ts';
import type { NamedContainer } from './container-kind.ts';
import { containerHash } from './container-hash.ts';
import { newestContainer } from './runtime-view.ts';

/** True when the container in the spec differs from the one that was created: in name or image. */
export function definitionChanged(container: NamedContainer['container'], made: RuntimeContainer): boolean {
  return made.annotations[ANNOTATION.hash] !== containerHash(container);
}

/**
 * How a container that is not running is started. One that was created in this sandbox but not started is started; creating it
 * again would count as a restart.
 */
export function startOf(
  named: NamedContainer,
  runtime: RuntimePod | undefined,
  sandbox: RuntimeSandbox | undefined,
  options: PodActionsOptions,
): ContainerStart {
  const { kind, container } = named;
  const newest = newestContainer(runtime, container.name);
  const usable =
    newest?.state === 'created' && newest.sandboxId === sandbox?.id && !definitionChanged(container, newest);
  if (usable) return { kind, container, attempt: newest.attempt, created: newest, previous: undefined };
  const attempt = nextAttempt(newest, options.logIndexes?.get(container.name));
  return { kind, container, attempt, created: undefined, previous: newestEnded(runtime, container.name) };
}

/**
 * The start that follows the stop of `running` in the same sync. Its delay depends on the run before: a
 * container that a probe has killed for the first time starts again at once, one that is killed repeatedly does not.
 */
export function startAfterStop(
  { kind, container }: NamedContainer,
  running: RuntimeContainer,
  runtime: RuntimePod | undefined,
): ContainerStart {
  const previous = newestEnded(runtime, container.name);
  return { kind, container, attempt: running.attempt + 1, created: undefined, previous };
}

function newestEnded(runtime: RuntimePod | undefined, name: string): RuntimeContainer | undefined {
  return runtime?.containers.find((one) => one.name === name && one.state === 'exited');
}
