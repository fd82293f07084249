import { handlersOf } from '@kubus/cri';
import { callCriOnce } from '@kubus/node-images';
import { type Logger, toError } from '@kubus/ports';
import { LauncherError } from '../errors.ts';

/** What the container runtime reports about itself. */
export interface RuntimeFacts {
  readonly name: string;
  readonly version: string;
  /** Its runtime handlers; undefined: it does not report them. */
  readonly handlers: readonly string[] | undefined;
  /** Undefined: it does not report it. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd' | undefined;
}

/**
 * Reads version, handlers and cgroup driver from the runtime.
 *
 * @throws LauncherError `NoRuntime` when it cannot be reached, in the reference's words.
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
    logger.info({ err: toError(error) }, 'The runtime does not report its cgroup driver; using the configured one');
    return undefined;
  }
}
