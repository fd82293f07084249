import { toError } from '@kubus/ports';
import type { z } from 'zod';

/** Why a checkpoint cannot be used. */
export interface CheckpointProblem {
  readonly problem: string;
}

/** The content of a checkpoint, or the first problem of its text. */
function parsedCheckpoint<T extends object>(schema: z.ZodType<T>, text: string): T | CheckpointProblem {
  try {
    const { data, error } = schema.safeParse(JSON.parse(text));
    if (data !== undefined) return data;
    const [issue] = error?.issues ?? [];
    return { problem: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a checkpoint'}` };
  } catch (error) {
    return { problem: toError(error).message };
  }
}

/** How one manager's checkpoint is read. */
interface CheckpointKind<T> {
  readonly schema: z.ZodType<T>;
  /** `CPU` or `memory`, as the reference names it. */
  readonly manager: string;
  /** Begins the problem of another policy. */
  readonly prefix: string;
  /** The checksums that its content may have. */
  readonly sums: (content: T) => readonly number[];
}

/**
 * The content of a checkpoint that the reference kubelet accepts, or why it does not start with it. `path` is named in the problem. What
 * `use` makes of the content may be a problem, too.
 */
export function acceptedCheckpoint<
  T extends { readonly policyName: string; readonly checksum: number },
  L extends object,
>(
  { schema, manager, prefix, sums }: CheckpointKind<T>,
  { text, policyName, path }: { readonly text: string; readonly policyName: string; readonly path: string },
  use: (content: T) => L | CheckpointProblem,
): L | CheckpointProblem {
  const refused = (problem: string): CheckpointProblem => ({
    problem: `could not restore state from checkpoint: ${problem}, please drain this node and delete the ${manager} manager checkpoint file ${JSON.stringify(path)} before restarting Kubelet`,
  });
  const found = parsedCheckpoint(schema, text);
  if ('problem' in found) return refused(found.problem);
  if (found.checksum !== 0 && !sums(found).includes(found.checksum)) return refused('checkpoint is corrupted');
  if (found.policyName !== policyName) {
    const names = `${JSON.stringify(policyName)} differs from state checkpoint policy ${JSON.stringify(found.policyName)}`;
    return refused(`${prefix}configured policy ${names}`);
  }
  const used = use(found);
  return 'problem' in used ? refused(used.problem) : used;
}
