import type { Container, ExecAction } from '@kubus/contracts';
import { expandVariables, formatGoDuration } from '@kubus/pod';
import type { Attempt } from './attempt.ts';

/**
 * The command of an exec probe. `$(NAME)` is replaced with the value that the container's spec contains literally for the variable;
 * values from elsewhere (a field, a Secret) are empty here, because the probe does not know them.
 */
export function execCommand({ command = [] }: ExecAction, { env = [] }: Pick<Container, 'env'>): string[] {
  const variables = new Map(env.map(({ name, value }) => [name, value ?? '']));
  return command.map((part) => expandVariables(part, variables));
}

/** The result of a command that has ended. */
export function judgeExec(exitCode: number, output: string): Attempt {
  return { result: exitCode === 0 ? 'success' : 'failure', output };
}

/** The result of a command that was ended because it took too long. */
export function execTimedOut(command: readonly string[], timeoutMs: number): Attempt {
  const quoted = JSON.stringify(command.join(' '));
  return { result: 'failure', output: `command timed out: ${quoted} timed out after ${formatGoDuration(timeoutMs)}` };
}
