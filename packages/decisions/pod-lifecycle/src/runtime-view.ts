import type { RuntimeContainer, RuntimePod } from '@kubus/contracts';

/** The newest run of the container called `name`. */
export function newestContainer(runtime: RuntimePod | undefined, name: string): RuntimeContainer | undefined {
  return runtime?.containers.find((container) => container.name === name);
}

/** True when a container's processes may exist. */
export function mayRun(container: RuntimeContainer): boolean {
  return container.state === 'running' || container.state === 'unknown';
}

/** Milliseconds since the Unix epoch of a runtime's decimal nanoseconds. */
export function nanosToMs(nanos: string): number {
  return Number(BigInt(nanos) / 1000n) / 1000;
}
