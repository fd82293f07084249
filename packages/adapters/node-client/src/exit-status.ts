import * as z from 'zod';
import { NodeClientError } from './node-client-error.ts';

/** The last message of a command's error stream: a Status of meta/v1. */
const statusSchema = z.object({
  status: z.string().optional(),
  message: z.string().optional(),
  details: z
    .object({
      causes: z.array(z.object({ reason: z.string().optional(), message: z.string().optional() })).optional(),
    })
    .optional(),
});

/**
 * The exit code of a command, from its error stream.
 *
 * Throws a {@link NodeClientError}: `refused` with the runtime's message when the command could not be run, `broken` when its
 * exit status was not reported.
 */
export function exitCode(said: string): number {
  const { status, message, details } = parse(said);
  if (status === 'Success') return 0;
  const code = Number(details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message);
  if (Number.isInteger(code)) return code;
  throw new NodeClientError('refused', message ?? 'the command could not be run');
}

function parse(said: string): z.infer<typeof statusSchema> {
  try {
    return statusSchema.parse(JSON.parse(said));
  } catch (cause) {
    const why =
      said === ''
        ? 'its exit status was not reported'
        : `its exit status was reported as ${JSON.stringify(said.slice(0, 200))}`;
    throw new NodeClientError('broken', `the connection to the command was lost: ${why}`, { cause });
  }
}
