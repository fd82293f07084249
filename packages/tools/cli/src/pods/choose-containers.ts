import type { Pod } from '@kubus/contracts';
import { containersOf, findContainer } from '@kubus/pod-lifecycle';
import { UserError } from '../user-error.ts';

/** Annotation that names the container to use when none is given (kubectl). */
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/**
 * The containers that a command uses, and a notice for the user about the choice. The texts are kubectl's.
 *
 * @throws UserError when the pod has no such container.
 */
export function chooseContainers(
  pod: Pod,
  asked: { readonly container?: string | undefined; readonly all?: boolean | undefined },
): { readonly names: readonly string[]; readonly notice: string | undefined } {
  if (asked.all === true) return { names: containersOf(pod).map(({ container }) => container.name), notice: undefined };
  const { name } = pod.metadata;
  const preset = pod.metadata.annotations?.[DEFAULT_CONTAINER] ?? '';
  const hasPreset = preset !== '' && findContainer(pod, preset) !== undefined;
  const chosen = asked.container ?? (hasPreset ? preset : (pod.spec.containers[0]?.name ?? ''));
  if (findContainer(pod, chosen) === undefined) {
    throw new UserError(`container ${chosen} is not valid for pod ${name} out of: ${allNames(pod)}`);
  }
  if (asked.container !== undefined || hasPreset) return { names: [chosen], notice: undefined };
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
