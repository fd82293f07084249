/** What the prober last concluded for one probe of one container. */
export type ProbeResult = 'success' | 'failure' | 'unknown';

/** Conclusions by container id, not by name: those of an earlier run say nothing about this one. */
export interface ProbeResults {
  readonly startup: ReadonlyMap<string, ProbeResult>;
  readonly liveness: ReadonlyMap<string, ProbeResult>;
  readonly readiness: ReadonlyMap<string, ProbeResult>;
}

/** Nothing has been probed yet. */
export const noProbeResults: ProbeResults = { startup: new Map(), liveness: new Map(), readiness: new Map() };
