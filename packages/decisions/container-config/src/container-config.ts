import type { Container, ContainerProcess, Pod } from '@kubus/contracts';
import { expandVariables } from '@kubus/pod';
import { LABEL } from '@kubus/pod-lifecycle';
import type { CDIDevice, ContainerConfig, Device } from '@kubus/proto/cri';
import { containerAnnotations } from './container-annotations.ts';
import { volumeDevices } from './devices.ts';
import { type EnvFileTexts, type ObjectLookup, completeEnvironment } from './environment.ts';
import { type EnvironmentSettings, environmentPlan } from './environment-plan.ts';
import { type MountSettings, containerMounts, expandImageSubPaths, imageExpressions } from './mounts.ts';
import { type ContainerResourceSettings, containerResources } from './resources.ts';
import { podLabels } from './sandbox-config.ts';
import { type SecuritySettings, containerSecurity } from './security.ts';
import { stopSignal } from './stop-signal.ts';

export interface ContainerSettings
  extends ContainerResourceSettings, SecuritySettings, EnvironmentSettings, MountSettings {
  readonly attempt: number;
  /** The image's id in the runtime. */
  readonly imageId: string;
  /** Devices from device plugins. */
  readonly devices?: readonly Device[];
  readonly cdiDevices?: readonly CDIDevice[];
  /** Annotations from device plugins; the container's own annotations take precedence. */
  readonly deviceAnnotations?: Readonly<Record<string, string>>;
  /** The feature gate `ContainerStopSignals`. Default: false. */
  readonly stopSignals?: boolean;
}

/**
 * A container for the runtime, without the parts that depend on the values of Secrets. It is JSON and contains no such value, so it
 * may be sent and recorded.
 */
export interface ContainerTemplate {
  /** Without environment, command and args. */
  readonly config: ContainerConfig;
  readonly process: ContainerProcess;
}

/**
 * A container as the runtime is to create it (behaviour:container-config), as far as it is known without the content of Secrets
 * and ConfigMaps. See {@link completeContainer}.
 *
 * Throws ContainerConfigError when the node cannot create it as the pod requires.
 */
export function containerTemplate(pod: Pod, container: Container, settings: ContainerSettings): ContainerTemplate {
  const { attempt, cdiDevices = [], deviceAnnotations, devices = [], imageId } = settings;
  const securityContext = containerSecurity(pod, container, settings);
  const signal = settings.stopSignals === true ? stopSignal(container) : undefined;
  const config: ContainerConfig = {
    metadata: { name: container.name, attempt },
    image: { image: imageId, userSpecifiedImage: container.image ?? '' },
    workingDir: container.workingDir ?? '',
    mounts: containerMounts(container, settings, securityContext.namespaceOptions?.usernsOptions),
    devices: [...devices, ...volumeDevices(container, settings)],
    CDIDevices: [...cdiDevices],
    labels: { ...podLabels(pod), [LABEL.containerName]: container.name },
    annotations: { ...deviceAnnotations, ...containerAnnotations(pod, container, attempt) },
    logPath: logPath(container.name, attempt),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    linux: { resources: containerResources(pod, container, settings), securityContext },
    ...(signal !== undefined && { stopSignal: signal }),
  };
  const { command = [], args = [] } = container;
  const environment = environmentPlan(pod, container, settings);
  const imageSubPaths = imageExpressions(container, settings);
  return { config, process: { environment, command, args, ...(imageSubPaths.length > 0 && { imageSubPaths }) } };
}

/**
 * Fills in what requires the values of Secrets, ConfigMaps and env files: the environment, and references to it in command and args.
 * To be called where these values are, when the runtime is called.
 *
 * Throws ContainerConfigError when an object or a key that is not optional is missing.
 */
export function completeContainer(
  { config, process }: ContainerTemplate,
  objects?: ObjectLookup,
  files?: EnvFileTexts,
): ContainerConfig {
  const variables = completeEnvironment(process.environment, objects, files);
  return {
    ...config,
    command: process.command.map((word) => expandVariables(word, variables)),
    args: process.args.map((word) => expandVariables(word, variables)),
    ...(process.imageSubPaths !== undefined && {
      mounts: expandImageSubPaths(config.mounts ?? [], process.imageSubPaths, variables),
    }),
    envs: [...variables].map(([key, value]) => ({ key, value: base64(value) })),
  };
}

/**
 * A container for the runtime, for callers that have all values. See {@link containerTemplate} and {@link
 * completeContainer}.
 */
export function containerConfig(
  pod: Pod,
  container: Container,
  settings: ContainerSettings,
  objects?: ObjectLookup,
): ContainerConfig {
  return completeContainer(containerTemplate(pod, container, settings), objects);
}

/** A container's log file below its pod's log folder (behaviour:labels-paths-logs). */
function logPath(containerName: string, attempt: number): string {
  return `${containerName}/${attempt}.log`;
}

/** Base64 of a text's UTF-8 bytes. */
function base64(text: string): string {
  let binary = '';
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}
