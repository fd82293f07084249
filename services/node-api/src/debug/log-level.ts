import type { Bus, FactOwner } from '@kubus/bus';
import { NODE_LOG_LEVEL, nodeLogLevel } from '@kubus/contracts';

/** The greatest verbosity that the reference accepts. */
const GREATEST = 2 ** 31 - 1;
/** The greatest number that the reference's parser can read, before the range is checked. */
const READABLE = 2 ** 32 - 1;

/** The log level of the node's processes: the configured one until a request sets another. */
export class LogLevel {
  readonly #facts: FactOwner<{ verbosity: number }>;

  constructor(bus: Bus) {
    this.#facts = bus.owner(nodeLogLevel);
    this.#facts.complete();
  }

  /**
   * Sets the log level of every process of the node, until this process restarts. Returns the reference's own texts.
   *
   * @param asked klog's verbosity, in decimal digits only.
   */
  set(asked: string): { status: number; text: string } {
    const refused = (parser: string, why: string) => `strconv.${parser}: parsing ${JSON.stringify(asked)}: ${why}`;
    if (!/^\d+$/.test(asked)) return { status: 400, text: refused('ParseUint', 'invalid syntax') };
    const verbosity = Number(asked);
    if (verbosity > READABLE) return { status: 400, text: refused('ParseUint', 'value out of range') };
    if (verbosity > GREATEST) {
      const why = refused('ParseInt', 'value out of range');
      return { status: 400, text: `failed set klog.logging.verbosity ${asked}: ${why}` };
    }
    this.#facts.put(NODE_LOG_LEVEL, { verbosity });
    return { status: 200, text: `successfully set klog.logging.verbosity to ${asked}` };
  }
}
