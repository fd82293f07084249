import type { Container, Pod, Probe } from '@kubus/contracts';
import { containerFieldPath, containersOf } from '@kubus/pod-lifecycle';

/** In the order of decisions: as long as a container has not started, its other probes wait. */
export const probeKinds = ['startup', 'liveness', 'readiness'] as const;
export type ProbeKind = (typeof probeKinds)[number];

/** One probe of one container of a pod's spec, with every default filled in. */
export interface ProbeDefinition {
  readonly container: Container;
  readonly kind: ProbeKind;
  readonly probe: Probe;
  /** The field path of events about the container, such as `spec.containers{web}`. */
  readonly fieldPath: string;
  readonly settings: ProbeSettings;
}

export interface ProbeSettings {
  /** Milliseconds from the start of the container to the first attempt. */
  readonly initialDelayMs: number;
  readonly timeoutMs: number;
  readonly periodMs: number;
  /** How many attempts in a row must have the same result before it counts. */
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/** A pod's probes. Only regular containers and sidecars have any (behaviour:probes, workers). */
export function probesOf(pod: Pick<Pod, 'spec'>): ProbeDefinition[] {
  return containersOf(pod)
    .filter(({ kind }) => kind === 'regular' || kind === 'sidecar')
    .flatMap(({ container }) =>
      probeKinds.flatMap((kind) => {
        const probe = container[`${kind}Probe`];
        if (probe === undefined) return [];
        const fieldPath = containerFieldPath(pod, container.name);
        return [{ container, kind, probe, fieldPath, settings: probeSettings(probe) }];
      }),
    );
}

/** The API server's defaults, for pods that do not come from it. */
function probeSettings(probe: Probe): ProbeSettings {
  const positive = (value: number | undefined, fallback: number): number =>
    value === undefined || value <= 0 ? fallback : value;
  return {
    initialDelayMs: positive(probe.initialDelaySeconds, 0) * 1000,
    timeoutMs: positive(probe.timeoutSeconds, 1) * 1000,
    periodMs: positive(probe.periodSeconds, 10) * 1000,
    successThreshold: positive(probe.successThreshold, 1),
    failureThreshold: positive(probe.failureThreshold, 3),
  };
}
