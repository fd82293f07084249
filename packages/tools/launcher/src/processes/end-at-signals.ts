import { type Logger, toError } from '@kubus/ports';
import { endAfter } from '@kubus/service-kit';

/** At SIGTERM or SIGINT, stops the launcher and exits: code 0, or 1 when stopping fails. */
export function endAtSignals(launcher: { stop(): Promise<void> }, logger: Logger): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      void endAfter(launcher.stop(), (error) => logger.error({ err: toError(error) }, 'did not end cleanly'));
    });
  }
}
