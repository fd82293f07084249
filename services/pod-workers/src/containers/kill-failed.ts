import { rpcErrorText } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { isAnswer } from '../runtime/runtime-answer.ts';

/** Thrown when the runtime has refused to stop a container or sandbox. The message is the reference kubelet's. */
export class KillFailed extends KubusError {
  constructor(message: string, cause: unknown) {
    super('kill-failed', message, { cause });
  }
}

/** Waits for a stop. Throws {@link KillFailed} when the runtime refuses it; passes any other error on unchanged. */
export async function orKillFailed(stopped: Promise<unknown>, action: string, target: string): Promise<void> {
  try {
    await stopped;
  } catch (error) {
    if (!isAnswer(error)) throw error;
    const text = JSON.stringify(rpcErrorText(error));
    throw new KillFailed(`failed to "${action}" for "${target}" with ${action}Error: ${text}`, error);
  }
}
