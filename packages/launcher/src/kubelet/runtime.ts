import { handlersOf } from '@kubus/cri';
import { callCriOnce } from '@kubus/node-images';
import { type Logger, toError } from '@kubus/ports';
import { runtimeHandler } from '../containerd-config.ts';
import { LauncherError } from '../errors.ts';

/** What the container runtime says of itself. */
export interface RuntimeFacts {
  readonly name: string;
  readonly version: string;
  /** Our handler, if the runtime has it. */
  readonly handler: string | undefined;
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
  const handlers = handlersOf(await callCriOnce(socket, 'Status', { verbose: true }));
  return {
    name: runtimeName,
    version: runtimeVersion,
    handler: handlers?.includes(runtimeHandler) === true ? runtimeHandler : undefined,
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
