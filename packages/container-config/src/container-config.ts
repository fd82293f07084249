import type { Container, Pod } from '@kubus/contracts';
import { ANNOTATION, LABEL, containerHash, isSet } from '@kubus/pod-lifecycle';
import type { ContainerConfig } from '@kubus/proto/cri';
import { expand } from './expand.ts';
import { containerResources } from './resources.ts';
import { podLabels } from './sandbox-config.ts';
import { containerSecurity } from './security.ts';

export interface ContainerSettings {
  readonly attempt: number;
  /** The image's id, as the runtime has it. */
  readonly imageId: string;
  /** Bytes of memory of the node. */
  readonly memoryCapacity: bigint;
}

/** A container as the runtime is to make it (kubelet behaviour 2.3). */
export function containerConfig(pod: Pod, container: Container, settings: ContainerSettings): ContainerConfig {
  const environment = resolveEnvironment(container);
  return {
    metadata: { name: container.name, attempt: settings.attempt },
    image: { image: settings.imageId, userSpecifiedImage: container.image ?? '' },
    command: (container.command ?? []).map((word) => expand(word, environment)),
    args: (container.args ?? []).map((word) => expand(word, environment)),
    workingDir: container.workingDir ?? '',
    envs: [...environment].map(([key, value]) => ({ key, value: base64(value) })),
    labels: { ...podLabels(pod), [LABEL.containerName]: container.name },
    annotations: containerAnnotations(pod, container, settings.attempt),
    logPath: logPath(container.name, settings.attempt),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    linux: {
      resources: containerResources(pod, container, settings.memoryCapacity),
      securityContext: containerSecurity(pod, container),
    },
  };
}

/** A container's log file below its pod's log folder (kubelet behaviour 1.7). */
export function logPath(containerName: string, attempt: number): string {
  return `${containerName}/${attempt}.log`;
}

/** The name of a pod's log folder (kubelet behaviour 1.7). */
export function logFolder(pod: { namespace: string; name: string; uid: string }): string {
  return `${pod.namespace}_${pod.name}_${pod.uid}`;
}

/** Variables with their references to earlier ones replaced, in order. */
function resolveEnvironment(container: Container): Map<string, string> {
  const variables = new Map<string, string>();
  for (const { name, value } of container.env ?? []) variables.set(name, expand(value ?? '', variables));
  return variables;
}

function containerAnnotations(pod: Pod, container: Container, attempt: number): Record<string, string> {
  const { metadata, spec } = pod;
  const annotations: Record<string, string> = {
    [ANNOTATION.hash]: containerHash(container),
    [ANNOTATION.restartCount]: String(attempt),
    [ANNOTATION.terminationMessagePath]: container.terminationMessagePath ?? '/dev/termination-log',
    [ANNOTATION.terminationMessagePolicy]: container.terminationMessagePolicy ?? 'File',
  };
  if (isSet(metadata.deletionTimestamp) && metadata.deletionGracePeriodSeconds !== undefined) {
    annotations[ANNOTATION.deletionGracePeriod] = String(metadata.deletionGracePeriodSeconds);
  }
  if (spec.terminationGracePeriodSeconds !== undefined) {
    annotations[ANNOTATION.terminationGracePeriod] = String(spec.terminationGracePeriodSeconds);
  }
  if (container.lifecycle?.preStop !== undefined) {
    annotations[ANNOTATION.preStopHandler] = JSON.stringify(container.lifecycle.preStop);
  }
  if ((container.ports ?? []).length > 0) annotations[ANNOTATION.ports] = JSON.stringify(container.ports);
  return annotations;
}

/** Base64 of a text's UTF-8 bytes. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
