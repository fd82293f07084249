import type { Container, EnvVar, EnvironmentPlan, EnvironmentStep, Pod, ServiceAddress } from '@kubus/contracts';
import { type DownwardSettings, fieldValue, resourceFieldValue } from './downward-api.ts';
import { ContainerConfigError } from './errors.ts';
import { referredObject } from './referenced-objects.ts';
import { serviceVariables, wantsServiceLinks } from './service-links.ts';

export interface EnvironmentSettings extends DownwardSettings {
  /** Services of the pod's `serviceNamespaces`. Undefined on a node without an API server. */
  readonly services?: readonly ServiceAddress[];
  /** Absolute folder of a volume of the pod, by its name; undefined when there is none. */
  readonly volumeFolder?: (name: string) => string | undefined;
  /** Variables from device plugins; they come first. */
  readonly deviceVariables?: readonly { readonly name: string; readonly value: string }[];
}

/**
 * A container's environment as far as it is known without the content of Secrets, ConfigMaps and env files (behaviour:environment-and-dns):
 * envFrom, then env, which may override it; both override the variables of services.
 *
 * Throws {@link ContainerConfigError} when a variable cannot get its value.
 */
export function environmentPlan(pod: Pod, container: Container, settings: EnvironmentSettings): EnvironmentPlan {
  const { services = [], deviceVariables = [] } = settings;
  return {
    device: deviceVariables.map(({ name, value }) => [name, value]),
    steps: [...envFromSteps(pod, container), ...envSteps(pod, container, settings)],
    services: [...serviceVariables(services, pod.metadata.namespace, wantsServiceLinks(pod))],
  };
}

function* envFromSteps({ metadata: { namespace } }: Pod, container: Container): Generator<EnvironmentStep> {
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    const object = referredObject(namespace, configMapRef, secretRef);
    if (object === undefined) continue;
    yield { from: 'object', object, prefix, optional: (configMapRef ?? secretRef)?.optional === true };
  }
}

function* envSteps(pod: Pod, container: Container, settings: EnvironmentSettings): Generator<EnvironmentStep> {
  for (const variable of container.env ?? []) {
    yield envStep(pod, container, variable, settings);
  }
}

function envStep(
  pod: Pod,
  container: Container,
  { name, value = '', valueFrom }: EnvVar,
  settings: EnvironmentSettings,
): EnvironmentStep {
  if (value !== '' || valueFrom === undefined) return { from: 'text', name, text: value };
  const { configMapKeyRef, fieldRef, fileKeyRef, resourceFieldRef, secretKeyRef } = valueFrom;
  if (fieldRef !== undefined) return { from: 'value', name, value: fieldValue(pod, fieldRef, settings) };
  if (resourceFieldRef !== undefined) {
    return { from: 'value', name, value: resourceFieldValue(pod, container, resourceFieldRef, settings) };
  }
  const selector = configMapKeyRef ?? secretKeyRef;
  const object = referredObject(pod.metadata.namespace, configMapKeyRef, secretKeyRef);
  if (selector !== undefined && object !== undefined) {
    return { from: 'key', name, object, key: selector.key, optional: selector.optional === true };
  }
  if (fileKeyRef === undefined) return { from: 'value', name, value: '' };
  const { key, path, optional, volumeName } = fileKeyRef;
  const volume = settings.volumeFolder?.(volumeName);
  if (volume === undefined) {
    throw new ContainerConfigError(`cannot find the volume "${volumeName}" referenced by FileKeyRef`);
  }
  return { from: 'file', name, volume, path, key, optional: optional === true };
}
