import { readFileSync, watch } from 'node:fs';
import { UserError } from '../user-error.ts';

/** The stream on which the steps are printed. */
export type Progress = Pick<NodeJS.WriteStream, 'write'>;

/** Prints what is done, and then its duration in seconds. */
export async function step<T>(progress: Progress, what: string, action: () => Promise<T>): Promise<T> {
  progress.write(`kubus: ${what} ... `);
  const began = performance.now();
  const result = await action();
  progress.write(`${((performance.now() - began) / 1000).toFixed(1)} s\n`);
  return result;
}

/** Prints each step in the launcher's log with its duration in seconds, until the node is started. Throws a {@link UserError} when that fails. */
export async function showSteps(progress: Progress, log: string, from: number, exited: Promise<string>): Promise<void> {
  let shown = from;
  let step: { text: string; began: number } | undefined;
  const finishStep = () => {
    if (step !== undefined) progress.write(`${((performance.now() - step.began) / 1000).toFixed(1)} s\n`);
    step = undefined;
  };
  const watcher = watch(log);
  const outcome = Promise.withResolvers<string | undefined>();
  const look = () => {
    const text = readFileSync(log).subarray(shown).toString();
    const end = text.lastIndexOf('\n') + 1;
    shown += Buffer.byteLength(text.slice(0, end));
    for (const line of text.slice(0, end).split('\n')) {
      const entry = parse(line);
      if (entry?.step !== undefined) {
        finishStep();
        progress.write(`kubus: ${entry.step} ... `);
        step = { text: entry.step, began: performance.now() };
      }
      if (entry?.failed !== undefined) outcome.resolve(entry.failed);
      if (entry?.started === true) outcome.resolve(undefined);
    }
  };
  watcher.on('change', look);
  void exited.then((status) => {
    look();
    outcome.resolve(`the launcher ended (${status}): see ${log}`);
  });
  look();
  const failed = await outcome.promise;
  watcher.close();
  finishStep();
  if (failed !== undefined) throw new UserError(failed);
}

function parse(line: string): { step?: string; failed?: string; started?: boolean } | undefined {
  try {
    return JSON.parse(line) as { step?: string };
  } catch {
    return undefined;
  }
}
