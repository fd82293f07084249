import { type Clock, toError } from '@kubus/ports';
import { type Attempt, type HttpRequest, ProbeErrored } from '@kubus/probe';
import { probeGrpc } from './grpc-probe.ts';
import { probeHttp } from './http-probe.ts';
import { probeTcp } from './tcp-probe.ts';

/** Timeout of an attempt, in milliseconds, and its cancellation. */
interface AttemptLimits {
  readonly timeoutMs: number;
  readonly cancelled: AbortSignal;
}

/** The result of an attempt over the network, or why it could not be made. */
export type Found = { readonly attempt: Attempt } | { readonly errored: Pick<ProbeErrored, 'state' | 'message'> };

/** Makes attempts over the network. No method rejects. */
export interface NetworkProbes {
  http(request: HttpRequest, limits: AttemptLimits): Promise<Found>;
  tcp(host: string, port: number, limits: AttemptLimits): Promise<Found>;
  grpc(target: { host: string; port: number; service: string }, limits: AttemptLimits): Promise<Found>;
}

/** Attempts at the pods themselves. */
export function networkProbes(clock: Clock): NetworkProbes {
  return {
    http: (request, limits) => found(probeHttp(request, { clock, ...limits })),
    tcp: (host, port, limits) => found(probeTcp(host, port, { clock, ...limits })),
    grpc: (target, limits) => found(probeGrpc(target, { clock, ...limits })),
  };
}

async function found(made: Promise<Attempt>): Promise<Found> {
  try {
    return { attempt: await made };
  } catch (thrown) {
    const { message } = toError(thrown);
    return { errored: { state: thrown instanceof ProbeErrored ? thrown.state : 'unknown', message } };
  }
}
