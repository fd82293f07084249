import type { Container, PodSpec } from '@kubus/contracts';
import { busyboxReference } from '@kubus/node-images';

/** The image that every node has besides the pause image. */
export const image = busyboxReference;

/** Runs until SIGTERM, and then ends at once. */
export const staying = shell('trap "exit 0" TERM; echo started; while :; do sleep 3600 & wait $!; done');

/** A shell line as a container's command. */
export function shell(line: string): string[] {
  return ['sh', '-c', line];
}

export interface ContainerOptions extends Partial<Container> {
  readonly name: string;
}

/** A container of the busybox image that keeps running. */
export function container(options: ContainerOptions): Container {
  return { image, command: staying, ...options };
}

/** A pod with the container `main`, or those given. It does not use cluster DNS, which a test's node does not have. */
export function pod(name: string, spec: Partial<PodSpec> = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 2,
      dnsPolicy: 'Default',
      containers: [container({ name: 'main' })],
      ...spec,
    },
  };
}

/** A pod whose only container runs a shell line. */
export function podRunning(name: string, line: string, spec: Partial<PodSpec> = {}): object {
  return pod(name, { containers: [container({ name: 'main', command: shell(line) })], ...spec });
}
