import type { Container, Pod } from '@kubus/contracts';
import type { ContainerConfig } from '@kubus/proto/cri';
import { type ContainerSettings, type ObjectLookup, completeContainer, containerTemplate } from '../src/index.ts';

/** A container as the runtime is asked to make it. */
export function containerConfig(
  pod: Pod,
  container: Container,
  settings: ContainerSettings,
  objects?: ObjectLookup,
): ContainerConfig {
  return completeContainer(containerTemplate(pod, container, settings), objects);
}
