import { elsewhereSchema } from '@kubus/service-kit';
import type { ChildProcess } from 'node:child_process';
import type { SupervisedProcess } from './supervisor.ts';

/**
 * Moves services out of a process over its channel. @param ended resolves when the process has ended: then its next start is asked for the
 * same.
 */
export function moveOver(
  child: Pick<ChildProcess, 'send' | 'on' | 'off' | 'channel'>,
  ended: Promise<unknown>,
): NonNullable<SupervisedProcess['setElsewhere']> {
  // The channel does not keep this process running.
  child.channel?.unref();
  return async (elsewhere) => {
    const done = Promise.withResolvers<undefined>();
    const listen = (message: unknown) => {
      const said = elsewhereSchema.safeParse(message);
      if (said.success && said.data.elsewhere.join() === elsewhere.join()) done.resolve(undefined);
    };
    child.on('message', listen);
    try {
      child.send({ elsewhere: [...elsewhere] }, () => undefined);
      await Promise.race([done.promise, ended]);
    } finally {
      child.off('message', listen);
    }
  };
}
