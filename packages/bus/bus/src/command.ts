import { KubusError } from '@kubus/ports';
import * as z from 'zod';

/**
 * The numbering of commands (rule:fenced-commands). A client numbers its commands within a window: one window per fenced pod,
 * one for everything else. Each command contains the lowest number that is still open, so the server may drop results
 * below it and always recognizes a late duplicate of a finished command, without keeping a list.
 */
export interface CommandNumber {
  /** The fencing token for a fenced command, otherwise the epoch of the client. */
  readonly token: number;
  readonly seq: number;
  readonly low: number;
}

export function formatCommandNumber(number: CommandNumber): string {
  return `${number.token}.${number.seq}.${number.low}`;
}

/** Throws a {@link KubusError} when the text is not a command number. */
export function parseCommandNumber(text: string | undefined): CommandNumber {
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(text ?? '');
  if (match === null) throw new KubusError('bad-envelope', `not a command number: ${text ?? 'none'}`);
  return { token: Number(match[1]), seq: Number(match[2]), low: Number(match[3]) };
}

export type CommandStatus = 'accepted' | 'attached' | 'done' | 'failed' | 'refused';

/** The content of a reply: the result of a `done` command, or why it `failed` or was `refused`. */
export const failureSchema = z.object({
  code: z.string(),
  message: z.string(),
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
});
export type Failure = z.infer<typeof failureSchema>;

/** The content of a reply that only says that the command has arrived: `accepted` or `attached`. */
export const arrivedSchema = z.strictObject({});

/** Thrown when the command was run and failed; `code` is the server's. */
export class CommandFailed extends KubusError {}

/** Thrown when the command was not run: it did not come from the owner of the pod, or the request was invalid. */
export class CommandRefused extends KubusError {}

/** Thrown when the server restarted after it had accepted the command: whether it was run is unknown. Read the state again, then decide. */
export class PeerRestarted extends KubusError {}
