import type { ContainerStatus } from '@kubus/contracts';
import type { NamedContainer, ProbeResults } from '@kubus/pod-lifecycle';

/**
 * Whether the container `id` has started and is ready, by its state and its probes (behaviour:probes, effect on status).
 * A plain init container is ready when it has succeeded; an ephemeral one never is, and has no value for started.
 */
export function readiness(
  { kind, container }: NamedContainer,
  state: ContainerStatus['state'],
  id: string | undefined,
  probes: ProbeResults,
): Pick<ContainerStatus, 'ready' | 'started'> {
  if (kind === 'ephemeral') return { ready: false };
  const running = state?.running !== undefined && id !== undefined;
  const passed = (results: ProbeResults['startup'], probe: object | undefined): boolean =>
    running && (probe === undefined || results.get(id) === 'success');
  if (kind === 'init') return { ready: state?.terminated?.exitCode === 0, started: running };
  const started = passed(probes.startup, container.startupProbe);
  return { ready: started && passed(probes.readiness, container.readinessProbe), started };
}
