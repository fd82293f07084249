import { CommandFailed, PeerRestarted } from '@kubus/bus';
import {
  type Container,
  type ExecAction,
  type HttpGetAction,
  type LifecycleHandler,
  criCommands,
} from '@kubus/contracts';
import { KubusError, sleep, toError } from '@kubus/ports';
import { type PodSync, recordEvent } from '../sync/pod-sync.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** Thrown when a handler fails. The message is the reference kubelet's, without the handler's own output. */
export class HookFailed extends KubusError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('hook-failed', message, options);
  }
}

/** What running a handler uses. */
export type HookSync = PodSync & Pick<WorkerDeps, 'bus' | 'clock' | 'hooks' | 'metrics' | 'nodeIps'>;

/** The container whose handler is run. */
export interface HookTarget {
  readonly containerId: string;
  /** For its name and its named ports. */
  readonly container: Container;
}

/**
 * Runs a container's postStart or preStop handler to its end (behaviour:kill-and-grace, hooks). `signal` aborts a request or a
 * sleep; a command continues until its container ends. Throws {@link HookFailed}.
 */
export async function runHook(
  sync: HookSync,
  target: HookTarget,
  handler: LifecycleHandler,
  signal: AbortSignal,
): Promise<void> {
  const { exec, httpGet, sleep: rest } = handler;
  if (exec !== undefined) return runExec(sync, target, exec);
  if (httpGet !== undefined) return runHttpGet(sync, target, httpGet, signal);
  if (rest !== undefined) {
    const { clock, metrics } = sync;
    await sleep(clock, rest.seconds * 1000, signal);
    if (signal.aborted) metrics.cutSleep();
    return;
  }
  throw new HookFailed('invalid handler: it has no exec, httpGet or sleep');
}

async function runExec(sync: HookSync, { containerId, container }: HookTarget, { command = [] }: ExecAction) {
  const { bus, ref, runtime, logger } = sync;
  const failed = (error: string, cause?: unknown) =>
    new HookFailed(
      `Exec lifecycle hook ([${command.join(' ')}]) for ${nameOf(sync, container)} failed - error: ${error}`,
      {
        cause,
      },
    );
  let exitCode: number;
  try {
    // 0: the handler may take as long as the container runs.
    const request = { params: { containerId, cmd: command, timeout: '0' }, output: 0 };
    const { result } = await bus.call(criCommands.ExecSync, ref.uid, request, { causes: runtime.cause });
    exitCode = result.response.exitCode ?? 0;
  } catch (error) {
    if (isLost(error)) {
      logger.warn({ container: container.name, err: toError(error) }, 'hook result unknown');
      return;
    }
    throw failed(toError(error).message, error);
  }
  if (exitCode !== 0) throw failed(`command '${command.join(' ')}' exited with ${exitCode}`);
}

/** The bridge or the runtime was lost while the handler ran: not the container's fault, and no reason to stop it. */
function isLost(error: unknown): boolean {
  return error instanceof PeerRestarted || (error instanceof CommandFailed && error.code === 'Unavailable');
}

async function runHttpGet(sync: HookSync, { container }: HookTarget, action: HttpGetAction, signal: AbortSignal) {
  const { path = '/', httpHeaders = [] } = action;
  try {
    const host = (action.host ?? '') === '' ? podIp(sync) : (action.host ?? '');
    const scheme = action.scheme?.toLowerCase() === 'https' ? 'https' : 'http';
    const port = portOf(container, action.port);
    const { fellBack } = await sync.hooks.get({ scheme, host, port, path, headers: httpHeaders }, signal);
    if (!fellBack) return;
    sync.metrics.httpFallback();
    const message = `request to HTTPS lifecycle hook ${host}:${port} got HTTP response, retry with HTTP succeeded`;
    recordEvent(sync, { type: 'Warning', reason: 'LifecycleHTTPFallback', message });
  } catch (error) {
    const text = `HTTP lifecycle hook (${path}) for ${nameOf(sync, container)} failed - error: ${toError(error).message}`;
    throw new HookFailed(text, { cause: error });
  }
}

function podIp({ pod, runtime, nodeIps }: HookSync): string {
  const sandboxIps = runtime.pod?.sandboxes.flatMap(({ ips }) => ips) ?? [];
  const ip = pod?.spec.hostNetwork === true ? nodeIps()[0] : (sandboxIps[0] ?? nodeIps()[0]);
  if (ip === undefined) throw new HookFailed('failed to find networking container: the pod has no address');
  return ip;
}

function portOf({ name, ports = [] }: Container, port: HttpGetAction['port']): number {
  const number = Number(port);
  if (Number.isInteger(number) && number > 0) return number;
  const named = ports.find((one) => one.name === port);
  if (named === undefined) throw new HookFailed(`couldn't find port: ${port} in container ${name}`);
  return named.containerPort;
}

function nameOf({ ref }: PodSync, { name }: Container): string {
  return `Container "${name}" in Pod "${ref.name}_${ref.namespace}(${ref.uid})"`;
}
