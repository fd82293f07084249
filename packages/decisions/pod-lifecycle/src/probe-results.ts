/** The prober's last result for one probe of one container. */
export type ProbeResult = 'success' | 'failure' | 'unknown';

/** Results by container id, not by name: those of an earlier run do not apply to this one. */
export interface ProbeResults {
  readonly startup: ReadonlyMap<string, ProbeResult>;
  readonly liveness: ReadonlyMap<string, ProbeResult>;
  readonly readiness: ReadonlyMap<string, ProbeResult>;
}

/** Nothing has been probed yet. */
export const noProbeResults: ProbeResults = { startup: new Map(), liveness: new Map(), readiness: new Map() };
