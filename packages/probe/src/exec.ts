import { expand } from '@kubus/container-config';
import type { Container, ExecAction } from '@kubus/contracts';
import type { Attempt } from './attempt.ts';
import { formatDuration } from './texts.ts';

/**
 * The command of an exec probe. `$(NAME)` is replaced by the value that the container's spec gives the variable literally;
 * what comes from elsewhere (a field, a Secret) is empty here, as the probe does not know it.
 */
export function execCommand({ command = [] }: ExecAction, { env = [] }: Pick<Container, 'env'>): string[] {
  const variables = new Map(env.map(({ name, value }) => [name, value ?? '']));
  return command.map((part) => expand(part, variables));
}

/** What a command that ended says. */
export function judgeExec(exitCode: number, output: string): Attempt {
  return { result: exitCode === 0 ? 'success' : 'failure', output };
}

/** A command that was ended because it took too long. */
export function execTimedOut(command: readonly string[], timeoutMs: number): Attempt {
  const quoted = JSON.stringify(command.join(' '));
  return { result: 'failure', output: `command timed out: ${quoted} timed out after ${formatDuration(timeoutMs)}` };
}
