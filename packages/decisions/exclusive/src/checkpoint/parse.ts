import { toError } from '@kubus/ports';
import type { z } from 'zod';

/** Why a checkpoint cannot be used. */
export interface CheckpointProblem {
  readonly problem: string;
}

/** The content of a checkpoint, or the first problem of its text. */
export function parsedCheckpoint<T extends object>(schema: z.ZodType<T>, text: string): T | CheckpointProblem {
  try {
    const { data, error } = schema.safeParse(JSON.parse(text));
    if (data !== undefined) return data;
    const [issue] = error?.issues ?? [];
    return { problem: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a checkpoint'}` };
  } catch (error) {
    return { problem: toError(error).message };
  }
}
