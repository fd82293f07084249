import type { AdjustableLogger } from './logger.ts';

/** Sets a logger to the level that is requested for the whole node, as long as it is requested; for a bus's `onVerbosity`. */
export function followLogLevel(logger: AdjustableLogger): (verbosity: number | undefined) => void {
  return (verbosity) => {
    logger.setVerbosity(verbosity);
    if (verbosity === undefined) logger.info({}, 'the configured log level applies');
    else logger.info({ verbosity }, 'the log level set for the node applies');
  };
}
