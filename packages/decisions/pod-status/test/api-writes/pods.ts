import type { ContainerStatus, Pod, PodCondition, PodStatus } from '@kubus/contracts';

export function pod(
  change: { status?: PodStatus; spec?: Partial<Pod['spec']>; metadata?: Partial<Pod['metadata']> } = {},
): Pod {
  const { status, spec, metadata } = change;
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u1', ...metadata },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    ...(status !== undefined && { status }),
  };
}

export function condition(type: string, status: string, change: Partial<PodCondition> = {}): PodCondition {
  return { type, status, lastTransitionTime: '2030-01-01T11:00:00Z', ...change };
}

export function container(
  name: string,
  state: ContainerStatus['state'],
  change: Partial<ContainerStatus> = {},
): ContainerStatus {
  return {
    name,
    ready: false,
    restartCount: 0,
    image: 'i',
    imageID: '',
    ...(state !== undefined && { state }),
    ...change,
  };
}
