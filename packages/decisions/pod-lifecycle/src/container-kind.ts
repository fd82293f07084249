import type { Container, EphemeralContainer, Pod } from '@kubus/contracts';

/**
 * `init`: has to succeed before the next one starts. `sidecar`: an init container that keeps running (KEP-753).
 * `ephemeral`: added to debug a running pod; started only once.
 */
export type ContainerKind = 'init' | 'sidecar' | 'regular' | 'ephemeral';

export interface NamedContainer {
  readonly kind: ContainerKind;
  readonly container: Container | EphemeralContainer;
}

/** True for an init container that runs together with the pod's regular containers. */
export function isSidecar(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}

/** Every container of the spec: init containers and sidecars in order, then regular, then ephemeral ones. */
export function containersOf({ spec }: Pick<Pod, 'spec'>): NamedContainer[] {
  return [
    ...(spec.initContainers ?? []).map((container): NamedContainer => ({
      kind: isSidecar(container) ? 'sidecar' : 'init',
      container,
    })),
    ...spec.containers.map((container): NamedContainer => ({ kind: 'regular', container })),
    ...(spec.ephemeralContainers ?? []).map((container): NamedContainer => ({ kind: 'ephemeral', container })),
  ];
}

/** The container called `name`, in whichever list of the spec it is. */
export function findContainer(pod: Pick<Pod, 'spec'>, name: string): NamedContainer | undefined {
  return containersOf(pod).find(({ container }) => container.name === name);
}

/** The field path of an event about a container, such as `spec.initContainers{setup}`. */
export function containerFieldPath(pod: Pick<Pod, 'spec'> | undefined, name: string): string {
  const kind = pod === undefined ? 'regular' : (findContainer(pod, name)?.kind ?? 'regular');
  const list = {
    init: 'initContainers',
    sidecar: 'initContainers',
    regular: 'containers',
    ephemeral: 'ephemeralContainers',
  };
  return `spec.${list[kind]}{${name}}`;
}
