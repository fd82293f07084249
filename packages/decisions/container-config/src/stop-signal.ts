import type { Container } from '@kubus/contracts';
import type { ContainerConfig } from '@kubus/proto/cri';

type Signal = NonNullable<ContainerConfig['stopSignal']>;

/** The API's name is `SIGRTMIN+1`, CRI's is `SIGRTMINPLUS1`; all other names are the same. */
export function stopSignal({ lifecycle }: Pick<Container, 'lifecycle'>): Signal | undefined {
  return lifecycle?.stopSignal?.replace('+', 'PLUS').replace('-', 'MINUS') as Signal | undefined;
}
