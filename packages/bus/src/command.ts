import { KubusError } from '@kubus/ports';
import * as z from 'zod';

/**
 * The numbering of commands (DESIGN rule 5). A client numbers its commands within a window: one window per fenced pod,
 * one for everything else. Each command says which is the lowest number still open, so the server may forget results
 * below it and recognises a late duplicate of a finished command for ever, without keeping a list.
 */
export interface CommandNumber {
  /** The epoch under which the client holds the window. */
  readonly hold: number;
  readonly seq: number;
  readonly low: number;
}

export function formatCommandNumber(number: CommandNumber): string {
  return `${number.hold}.${number.seq}.${number.low}`;
}

/** Throws a {@link KubusError} when the text is not a command number. */
export function parseCommandNumber(text: string | undefined): CommandNumber {
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(text ?? '');
  if (match === null) throw new KubusError('bad-envelope', `not a command number: ${text ?? 'none'}`);
  return { hold: Number(match[1]), seq: Number(match[2]), low: Number(match[3]) };
}

export type CommandStatus = 'accepted' | 'attached' | 'done' | 'failed' | 'refused';

/** What a reply carries: the result of a `done` command, or why it `failed` or was `refused`. */
export const failureSchema = z.object({
  code: z.string(),
  message: z.string(),
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
});
export type Failure = z.infer<typeof failureSchema>;

/** The command ran and failed; `code` is the server's. */
export class CommandFailed extends KubusError {}

/** The command did not run: not the holder of the pod, or not a valid request. */
export class CommandRefused extends KubusError {}

/** The server restarted while it had the command: nobody knows whether it ran. Read the truth, then decide anew. */
export class PeerRestarted extends KubusError {}
