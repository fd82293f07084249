import type { Attempt, ProbeErrored } from './attempt.ts';
import type { ProbeKind } from './definition.ts';

/** The kind's name in events and metrics. */
export const kindNames: Readonly<Record<ProbeKind, string>> = {
  startup: 'Startup',
  liveness: 'Liveness',
  readiness: 'Readiness',
};

/** The event about an attempt; undefined: none (behaviour:events, Unhealthy and ProbeWarning). */
export function attemptEvent(
  kind: ProbeKind,
  { result, output }: Attempt,
): { reason: 'Unhealthy' | 'ProbeWarning'; message: string } | undefined {
  const name = kindNames[kind];
  if (result === 'failure') return { reason: 'Unhealthy', message: `${name} probe failed: ${output}` };
  if (result === 'warning') return { reason: 'ProbeWarning', message: `${name} probe warning: ${output}` };
  return undefined;
}

/** The same for a probe that could not be run. */
export function erroredEvent(kind: ProbeKind, error: ProbeErrored): { reason: 'Unhealthy'; message: string } {
  const name = kindNames[kind];
  return {
    reason: 'Unhealthy',
    message: `${name} probe errored and resulted in ${error.state} state: ${error.message}`,
  };
}

/** `host:port`, with an IPv6 address in brackets. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
