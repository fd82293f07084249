import type { AdjustableLogger } from './logger.ts';

/** Has a logger say as much as has been asked of the whole node, as long as that is asked; for a bus's `onVerbosity`. */
export function followLogLevel(logger: AdjustableLogger): (verbosity: number | undefined) => void {
  return (verbosity) => {
    logger.setVerbosity(verbosity);
    if (verbosity === undefined) logger.info({}, 'as much is logged as is configured');
    else logger.info({ verbosity }, 'as much is logged as was asked of the node');
  };
}
