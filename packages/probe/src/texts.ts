import type { Attempt, ProbeErrored } from './attempt.ts';
import type { ProbeKind } from './definition.ts';

/** How events and metrics write the kind. */
export const kindNames: Readonly<Record<ProbeKind, string>> = {
  startup: 'Startup',
  liveness: 'Liveness',
  readiness: 'Readiness',
};

/** What the pod's user is told about an attempt; undefined: nothing (kubelet behaviour 4, Unhealthy and ProbeWarning). */
export function attemptEvent(
  kind: ProbeKind,
  { result, output }: Attempt,
): { reason: 'Unhealthy' | 'ProbeWarning'; message: string } | undefined {
  const name = kindNames[kind];
  if (result === 'failure') return { reason: 'Unhealthy', message: `${name} probe failed: ${output}` };
  if (result === 'warning') return { reason: 'ProbeWarning', message: `${name} probe warning: ${output}` };
  return undefined;
}

/** The same for a probe that could not be made. */
export function erroredEvent(kind: ProbeKind, error: ProbeErrored): { reason: 'Unhealthy'; message: string } {
  const name = kindNames[kind];
  return {
    reason: 'Unhealthy',
    message: `${name} probe errored and resulted in ${error.state} state: ${error.message}`,
  };
}

/** A duration of whole seconds as the reference's texts write it: `1s`, `1m30s`, `1h0m0s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes === 0) return `${seconds}s`;
  return hours === 0 ? `${minutes}m${seconds % 60}s` : `${hours}h${minutes % 60}m${seconds % 60}s`;
}

/** `host:port`, with an IPv6 address in brackets. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
