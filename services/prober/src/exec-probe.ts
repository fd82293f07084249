import { type Bus, type Cause, CommandFailed, CommandRefused, PeerRestarted } from '@kubus/bus';
import { criCommands, rpcErrorText } from '@kubus/contracts';
import { toError } from '@kubus/ports';
import { type Attempt, AttemptLost, MAX_OUTPUT, ProbeErrored, execTimedOut, judgeExec } from '@kubus/probe';

/** The bridge's error codes when the runtime fails, not the container. */
const lostCodes: readonly string[] = ['Unavailable', 'Cancelled'];

/**
 * Makes an exec probe through cri-bridge, which ends the command at its timeout. Waits for a lost bus or bridge and
 * then repeats the command. Throws {@link ProbeErrored} when the runtime cannot run it, and {@link AttemptLost} when
 * no bridge answers.
 */
export async function probeExec(
  bus: Bus,
  command: readonly string[],
  options: { podUid: string; containerId: string; timeoutMs: number; causes: readonly Cause[] },
): Promise<{ attempt: Attempt; cause: Cause | undefined }> {
  const { podUid, containerId, timeoutMs, causes } = options;
  const params = { containerId, cmd: [...command], timeout: String(timeoutMs / 1000) };
  try {
    const { result, cause } = await bus.call(criCommands.ExecSync, podUid, { params, output: MAX_OUTPUT }, { causes });
    const { stdout = '', stderr = '', exitCode = 0 } = result.response;
    return { attempt: judgeExec(exitCode, outputOf(stdout, stderr)), cause };
  } catch (error) {
    const lost = error instanceof CommandFailed && lostCodes.includes(error.code);
    if (lost || error instanceof CommandRefused || error instanceof PeerRestarted) {
      throw new AttemptLost(toError(error));
    }
    if (error instanceof CommandFailed && error.code === 'DeadlineExceeded') {
      return { attempt: execTimedOut(command, timeoutMs), cause: undefined };
    }
    throw new ProbeErrored('unknown', error instanceof CommandFailed ? rpcErrorText(error) : toError(error).message, {
      cause: error,
    });
  }
}

function outputOf(stdout: string, stderr: string): string {
  const bytes = Buffer.concat([Buffer.from(stdout, 'base64'), Buffer.from(stderr, 'base64')]);
  return bytes.subarray(0, MAX_OUTPUT).toString('utf8');
}
