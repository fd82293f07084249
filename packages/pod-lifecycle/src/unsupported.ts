import type { Pod } from '@kubus/contracts';

/**
 * What a pod asks for that this version does not do. Such a pod is not started at all: running it without would be
 * something else than what its author wrote. Empty when everything is understood.
 */
export function unsupportedFields(pod: Pick<Pod, 'spec'>): string[] {
  const { spec } = pod;
  const fields: string[] = [];
  const ask = (present: boolean, field: string) => {
    if (present) fields.push(field);
  };
  ask((spec.initContainers?.length ?? 0) > 0, 'spec.initContainers');
  ask((spec.ephemeralContainers?.length ?? 0) > 0, 'spec.ephemeralContainers');
  ask((spec.volumes?.length ?? 0) > 0, 'spec.volumes');
  ask((spec.resourceClaims?.length ?? 0) > 0, 'spec.resourceClaims');
  ask(spec.runtimeClassName !== undefined, 'spec.runtimeClassName');
  ask(spec.hostUsers === false, 'spec.hostUsers');
  for (const [index, container] of spec.containers.entries()) {
    const at = `spec.containers[${index}]`;
    for (const field of ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'] as const) {
      ask(container[field] !== undefined, `${at}.${field}`);
    }
    ask((container.envFrom?.length ?? 0) > 0, `${at}.envFrom`);
    ask(
      (container.env ?? []).some((variable) => variable.valueFrom !== undefined),
      `${at}.env[].valueFrom`,
    );
    ask((container.volumeDevices?.length ?? 0) > 0, `${at}.volumeDevices`);
  }
  return fields;
}
