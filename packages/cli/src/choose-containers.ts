import type { Pod } from '@kubus/contracts';
import { containersOf, findContainer } from '@kubus/pod-lifecycle';
import { UserError } from './user-error.ts';

/** The container that is meant when none is named (kubectl). */
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/**
 * The containers whose logs are asked for, and what to tell the user about the choice. Texts are kubectl's.
 *
 * Throws a {@link UserError} when the pod has no such container.
 */
export function chooseContainers(
  pod: Pod,
  asked: { readonly container?: string | undefined; readonly all?: boolean | undefined },
): { readonly names: readonly string[]; readonly notice: string | undefined } {
  if (asked.all === true) return { names: containersOf(pod).map(({ container }) => container.name), notice: undefined };
  const { name } = pod.metadata;
  const preset = pod.metadata.annotations?.[DEFAULT_CONTAINER] ?? '';
  const isThere = preset !== '' && findContainer(pod, preset) !== undefined;
  const chosen = asked.container ?? (isThere ? preset : (pod.spec.containers[0]?.name ?? ''));
  if (findContainer(pod, chosen) === undefined) {
    throw new UserError(`container ${chosen} is not valid for pod ${name} out of: ${allNames(pod)}`);
  }
  if (asked.container !== undefined || isThere) return { names: [chosen], notice: undefined };
  const missing = preset === '' ? [] : [`Default container name "${preset}" not found in pod ${name}`];
  const choice = containersOf(pod).length > 1 ? [`Defaulted container "${chosen}" out of: ${allNames(pod)}`] : [];
  return { names: [chosen], notice: [...missing, ...choice].join('\n') || undefined };
}

function allNames({ spec }: Pod): string {
  return [
    ...spec.containers.map(({ name }) => name),
    ...(spec.ephemeralContainers ?? []).map(({ name }) => `${name} (ephem)`),
    ...(spec.initContainers ?? []).map(({ name }) => `${name} (init)`),
  ].join(', ');
}
