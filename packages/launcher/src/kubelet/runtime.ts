import { handlersOf } from '@kubus/cri';
import { callCriOnce } from '@kubus/node-images';
import { type Logger, toError } from '@kubus/ports';
import { LauncherError } from '../errors.ts';

/** What the container runtime says of itself. */
export interface RuntimeFacts {
  readonly name: string;
  readonly version: string;
  /** The handlers that it has; undefined: it does not say. */
  readonly handlers: readonly string[] | undefined;
  /** Undefined: it does not say. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd' | undefined;
}

/**
 * Asks the runtime what it is.
 *
 * @throws LauncherError `NoRuntime` when it can not be reached, in the reference's words.
 */
export async function askRuntime(socket: string, endpoint: string, logger: Logger): Promise<RuntimeFacts> {
  const { runtimeName = '', runtimeVersion = '' } = await callCriOnce(socket, 'Version', {}).catch((cause: unknown) => {
    const message = `validate service connection: validate CRI v1 runtime API for endpoint "${endpoint}": ${toError(cause).message}`;
    throw new LauncherError('NoRuntime', message, { cause, context: { endpoint } });
  });
  return {
    name: runtimeName,
    version: runtimeVersion,
    handlers: handlersOf(await callCriOnce(socket, 'Status', { verbose: true })),
    cgroupDriver: await cgroupDriverOf(socket, logger),
  };
}

async function cgroupDriverOf(socket: string, logger: Logger): Promise<RuntimeFacts['cgroupDriver']> {
  try {
    const { linux } = await callCriOnce(socket, 'RuntimeConfig', {});
    return linux === undefined ? undefined : linux.cgroupDriver === 'CGROUPFS' ? 'cgroupfs' : 'systemd';
  } catch (error) {
    logger.info({ err: toError(error) }, 'the runtime does not tell its cgroup driver: the configured one counts');
    return undefined;
  }
}
