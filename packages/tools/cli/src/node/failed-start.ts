import { type NodeDir, takeDown } from '@kubus/launcher';
import { toError } from '@kubus/ports';
import { existsSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkout } from '../nats-option.ts';
import { printError } from '../output/output.ts';
import { UserError } from '../user-error.ts';

interface FailedStart {
  /** Whether the node existed before; then it stays as it is. */
  readonly existed: boolean;
  /** Whether the state of a Kubernetes API was kept for it; then it still is. */
  readonly keepsApi: boolean;
  readonly signal: AbortSignal;
  readonly thrown: unknown;
}

/**
 * Removes what a failed start has left of a node that did not exist before, and returns the error to report. The logs of the node are kept
 * in the checkout, unless the start was interrupted.
 */
export async function undoStart(dir: NodeDir, { existed, keepsApi, signal, thrown }: FailedStart): Promise<Error> {
  const kubus = `./kubus --node ${dir.node}`;
  const error = signal.aborted ? new UserError('interrupted') : toError(thrown);
  const and = (text: string, message = error.message) => new UserError(`${message}\nkubus: ${text}`, { cause: thrown });
  if (!existsSync(dir.root) && !existsSync(dir.run)) return error;
  if (existed) return and(`"${kubus} up" starts the node, "${kubus} down" removes it`);
  printError(`kubus: removing what was started of node ${dir.node}`);
  const logs = signal.aborted ? undefined : await keepLogs(dir);
  try {
    await takeDown(dir, { graceSeconds: 0, keepsApi });
  } catch (problem) {
    return and(`it cannot be removed (${toError(problem).message}): run "${kubus} down"`);
  }
  const nothing = `nothing of node ${dir.node} is left${keepsApi ? ' but the objects that its API has kept' : ''}`;
  if (logs === undefined) return and(nothing);
  return and(`${nothing}; its logs are in ${logs}`, error.message.replaceAll(dir.logs, logs));
}

/** The folder to which the node's logs were copied, replacing those of an earlier failure; undefined when there are none. */
async function keepLogs(dir: NodeDir): Promise<string | undefined> {
  const kept = join(checkout, '.kubus/failed', dir.node);
  await rm(kept, { recursive: true, force: true });
  return cp(dir.logs, kept, { recursive: true }).then(
    () => kept,
    () => undefined,
  );
}
