import { UserError } from '../user-error.ts';

/** How long a collector may take to answer, in milliseconds. */
const COLLECTOR_MS = 10_000;

/**
 * Sends spans to an OpenTelemetry collector, by OTLP over HTTP with JSON.
 *
 * @param requests each the text of an `ExportTraceServiceRequest`
 * @param endpoint the collector's base URL
 * @throws UserError when the collector cannot be reached, or rejects a span.
 */
export async function sendSpans(requests: Iterable<string> | AsyncIterable<string>, endpoint: string): Promise<void> {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  for await (const body of requests) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(COLLECTOR_MS) }).catch(
      (error: unknown) => {
        const { cause } = error as Error;
        throw new UserError(`cannot reach the collector at ${url}: ${String(cause ?? error)}`);
      },
    );
    if (!answer.ok)
      throw new UserError(`the collector at ${url} answers ${answer.status}: ${(await answer.text()).slice(0, 200)}`);
    const { partialSuccess } = ((await answer.json().catch(() => ({}))) ?? {}) as {
      partialSuccess?: { rejectedSpans?: string | number; errorMessage?: string };
    };
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    if (rejected > 0)
      throw new UserError(`the collector at ${url} rejects ${rejected} spans: ${partialSuccess?.errorMessage ?? ''}`);
  }
}
