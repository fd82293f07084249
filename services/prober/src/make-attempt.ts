import type { Bus, Cause } from '@kubus/bus';
import { toError } from '@kubus/ports';
import {
  type Attempt,
  AttemptLost,
  MAX_TRIES,
  type ProbeDefinition,
  ProbeErrored,
  execCommand,
  httpRequest,
  resolvePort,
} from '@kubus/probe';
import { probeExec } from './exec-probe.ts';
import type { Found, NetworkProbes } from './network-probes.ts';

/** The target of an attempt. */
export interface ProbeTarget {
  readonly podUid: string;
  readonly podIp: string | undefined;
  readonly containerId: string;
  readonly causes: readonly Cause[];
}

/** The result of an attempt. */
export type Outcome =
  | { readonly kind: 'made'; readonly attempt: Attempt; readonly causes: readonly Cause[] }
  /** It could not be made, which is reported to the pod's user. */
  | { readonly kind: 'errored'; readonly error: ProbeErrored }
  | { readonly kind: 'lost'; readonly error: AttemptLost };

/** Makes one attempt, up to {@link MAX_TRIES} times while it cannot be made. Never rejects. */
export async function makeAttempt(
  definition: ProbeDefinition,
  target: ProbeTarget,
  deps: { bus: Bus; network: NetworkProbes; cancelled: AbortSignal },
): Promise<Outcome> {
  for (let tries = 1; ; tries++) {
    try {
      const { attempt, cause } = await tryOnce(definition, target, deps);
      return { kind: 'made', attempt, causes: cause === undefined ? target.causes : [cause] };
    } catch (thrown) {
      if (thrown instanceof AttemptLost) return { kind: 'lost', error: thrown };
      const error = thrown instanceof ProbeErrored ? thrown : unexpected(toError(thrown));
      if (tries === MAX_TRIES || deps.cancelled.aborted) return { kind: 'errored', error };
    }
  }
}

async function tryOnce(
  { container, probe, settings: { timeoutMs } }: ProbeDefinition,
  { podUid, podIp, containerId, causes }: ProbeTarget,
  { bus, network, cancelled }: { bus: Bus; network: NetworkProbes; cancelled: AbortSignal },
): Promise<{ attempt: Attempt; cause?: Cause | undefined }> {
  const limits = { timeoutMs, cancelled };
  const { exec, httpGet, tcpSocket, grpc } = probe;
  if (exec !== undefined) {
    return probeExec(bus, execCommand(exec, container), { podUid, containerId, timeoutMs, causes });
  }
  if (httpGet !== undefined) {
    const request = httpRequest(httpGet, container, addressOf(httpGet.host, podIp));
    return attemptOf(await network.http(request, limits));
  }
  if (tcpSocket !== undefined) {
    const port = resolvePort(tcpSocket.port, container);
    return attemptOf(await network.tcp(addressOf(tcpSocket.host, podIp), port, limits));
  }
  if (grpc !== undefined) {
    const { port, service = '' } = grpc;
    return attemptOf(await network.grpc({ host: addressOf(undefined, podIp), port, service }, limits));
  }
  throw new ProbeErrored('unknown', `missing probe handler for ${container.name}`);
}

function attemptOf(found: Found): { attempt: Attempt } {
  if ('attempt' in found) return found;
  throw new ProbeErrored(found.errored.state, found.errored.message);
}

function addressOf(host: string | undefined, podIp: string | undefined): string {
  const address = host === undefined || host === '' ? podIp : host;
  if (address === undefined) throw new ProbeErrored('unknown', 'the pod has no IP address');
  return address;
}

function unexpected(error: Error): ProbeErrored {
  return new ProbeErrored('unknown', error.message, { cause: error });
}
