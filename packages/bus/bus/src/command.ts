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

/** No number is as great: each has a greater one, and they can be told apart. */
const NUMBERS = 2 ** 52;

/** Throws a {@link KubusError} when the text is not a command number. */
export function parseCommandNumber(text: string | undefined): CommandNumber {
  const [, token, seq, low] = (/^(\d+)\.(\d+)\.(\d+)$/.exec(text ?? '') ?? []).map(Number);
  const isOne = [token, seq, low].every((number) => number !== undefined && number < NUMBERS);
  if (token === undefined || seq === undefined || low === undefined || !isOne)
    throw new KubusError('bad-envelope', `not a command number: ${text ?? 'none'}`);
  return { token, seq, low };
}

/** Throws a {@link KubusError} when a fencing token is so great that no greater one could follow. */
export function checkToken(token: number): void {
  if (token >= NUMBERS) throw new KubusError('bad-token', `a fencing token is less than ${NUMBERS}, not ${token}`);
}

export type CommandStatus = 'accepted' | 'attached' | 'done' | 'failed' | 'refused';

/** The content of a reply: the result of a `done` command, or why it `failed` or was `refused`. */
export const failureSchema = z.object({
  code: z.string(),
  message: z.string(),
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
});
export type Failure = z.infer<typeof failureSchema>;

/** The content of a reply that only says that the command has arrived. It is not empty: the broker takes `{}` for a request without options. */
export const arrivedSchema = z.object({ status: z.enum(['accepted', 'attached']) });
export type Arrived = z.infer<typeof arrivedSchema>;

/** Thrown when the command was run and failed; `code` is the server's. */
export class CommandFailed extends KubusError {}

/** Thrown when the command was not run: it did not come from the owner of the pod, or the request was invalid. */
export class CommandRefused extends KubusError {}

/** Thrown when the server restarted after it had accepted the command: whether it was run is unknown. Read the state again, then decide. */
export class PeerRestarted extends KubusError {}
