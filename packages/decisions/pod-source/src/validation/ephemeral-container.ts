import type { EphemeralContainer, Pod } from '@kubus/contracts';
import { checkContainer } from './container.ts';
import type { FieldErrors, FieldPath } from './field.ts';
import type { KnownVolumes } from './volume.ts';

const forbidden = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const;

const DETAIL = 'cannot be set for an Ephemeral Container';

/**
 * Checks the containers that were added for debugging: nothing that the pod relies on. Source: validateEphemeralContainers of
 * k8s.io/kubernetes/pkg/apis/core/validation.
 */
export function checkEphemeralContainers(pod: Pod, volumes: KnownVolumes, path: FieldPath, errors: FieldErrors): void {
  const others = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map(({ name }) => name);
  const claims = new Set((pod.spec.resourceClaims ?? []).map(({ name }) => name));
  const names = new Set(others);
  for (const [i, container] of (pod.spec.ephemeralContainers ?? []).entries()) {
    const at = path.index(i);
    checkContainer(container, pod, volumes, claims, at, errors);
    if (names.has(container.name)) errors.duplicate(at.child('name'), container.name);
    names.add(container.name);
    const { targetContainerName: target = '' } = container;
    if (target !== '' && !others.includes(target)) errors.notFound(at.child('targetContainerName'), target);
    for (const field of forbidden) if (isSet(container[field])) errors.forbidden(at.child(field), DETAIL);
    checkSubPaths(container, at.child('volumeMounts'), errors);
  }
}

function checkSubPaths({ volumeMounts = [] }: EphemeralContainer, path: FieldPath, errors: FieldErrors): void {
  for (const [i, mount] of volumeMounts.entries()) {
    for (const field of ['subPath', 'subPathExpr'] as const) {
      if ((mount[field] ?? '') !== '') errors.forbidden(path.index(i).child(field), DETAIL);
    }
  }
}

/** The API writes resources even if there are none. */
const isSet = (value: unknown): boolean =>
  value !== undefined && !(typeof value === 'object' && value !== null && Object.keys(value).length === 0);
