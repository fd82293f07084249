import { rpcErrorText } from '@kubus/contracts';
import { formatGoDuration } from '@kubus/pod';
import type { Attempt } from './attempt.ts';

/** Names of a health service's answers, by number (grpc.health.v1 HealthCheckResponse.ServingStatus). */
const servingStatus = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** The outcome of a health check. `code` is gRPC's, such as `Unavailable`. */
export type HealthAnswer =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  | { readonly kind: 'not connected' }
  | { readonly kind: 'not answered' };

/** @param address `host:port` */
export function judgeGrpc(answer: HealthAnswer, address: string, timeoutMs: number): Attempt {
  const timeout = formatGoDuration(timeoutMs);
  const failure = (output: string): Attempt => ({ result: 'failure', output });
  switch (answer.kind) {
    case 'answered': {
      const name = servingStatus[answer.status] ?? String(answer.status);
      if (name === 'SERVING') return { result: 'success', output: 'service healthy' };
      return failure(`service unhealthy (responded with "${name}")`);
    }
    case 'not connected':
      return failure(`timeout: failed to connect service "${address}" within ${timeout}: context deadline exceeded`);
    case 'not answered':
      return failure(`timeout: health rpc did not complete within ${timeout}`);
    case 'failed':
      if (answer.code === 'Unimplemented') {
        return failure(
          `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${answer.message}`,
        );
      }
      return failure(`error: health rpc probe failed: ${rpcErrorText(answer)}`);
  }
}
