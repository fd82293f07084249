import type { Client } from '@grpc/grpc-js';
import type { Clock } from '@kubus/ports';
import { type Attempt, type HealthAnswer, USER_AGENT, joinHostPort, judgeGrpc } from '@kubus/probe';
import { isIPv6 } from 'node:net';
import { HEALTH_CHECK, decodeHealthResponse, encodeHealthRequest } from './health-codec.ts';
import { TimeLimit } from './time-limit.ts';

/** Each attempt has a connection of its own, in plain text and directly to the pod. */
const channelOptions = {
  'grpc.primary_user_agent': USER_AGENT,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
};

/** Makes a grpc probe: connects and calls the health service (behaviour:probes). `host` is an IP address. */
export async function probeGrpc(
  { host, port, service }: { host: string; port: number; service: string },
  { clock, timeoutMs, cancelled }: { clock: Clock; timeoutMs: number; cancelled: AbortSignal },
): Promise<Attempt> {
  // Only pods with such probes make the prober load gRPC.
  const { default: grpc } = await import('@grpc/grpc-js');
  const address = joinHostPort(host, port);
  const target = `${isIPv6(host) ? 'ipv6' : 'ipv4'}:${address}`;
  const limit = new TimeLimit(clock, timeoutMs, cancelled);
  const client = new grpc.Client(target, grpc.credentials.createInsecure(), channelOptions);
  try {
    const answer = await withinLimit(client, service, limit, (code) => codeName(grpc.status[code] ?? 'UNKNOWN'));
    return judgeGrpc(answer, address, timeoutMs);
  } finally {
    limit.end();
    client.close();
  }
}

function withinLimit(
  client: Client,
  service: string,
  limit: TimeLimit,
  nameOf: (code: number) => string,
): Promise<HealthAnswer> {
  return new Promise((resolve) => {
    let connected = false;
    const expire = () => resolve({ kind: connected ? 'not answered' : 'not connected' });
    limit.signal.addEventListener('abort', expire, { once: true });
    if (limit.signal.aborted) expire();
    // A refused connection is retried until the timeout, as in the reference.
    client.waitForReady(Infinity, (notReady) => {
      if (notReady !== undefined || limit.signal.aborted) return;
      connected = true;
      client.makeUnaryRequest(HEALTH_CHECK, encodeHealthRequest, decodeHealthResponse, service, (error, status) => {
        if (error === null) resolve({ kind: 'answered', status: status ?? 0 });
        else resolve({ kind: 'failed', code: nameOf(error.code), message: error.details });
      });
    });
  });
}

/** `NOT_FOUND` as `NotFound`; the reference spells one name in American English. */
function codeName(name: string): string {
  if (name === 'CANCELLED') return 'Canceled';
  return name.toLowerCase().replace(/(^|_)([a-z])/g, (_match, _before, letter: string) => letter.toUpperCase());
}
