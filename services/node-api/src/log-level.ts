import type { Bus, FactOwner } from '@kubus/bus';
import { NODE_LOG_LEVEL, nodeLogLevel } from '@kubus/contracts';

/** The greatest verbosity that the reference takes. */
const GREATEST = 2 ** 31 - 1;
/** The greatest number that its parser can read, before it looks at what it means. */
const READABLE = 2 ** 32 - 1;

/** How much the processes of the node write to their logs: as configured until somebody asks for another level. */
export class LogLevel {
  readonly #facts: FactOwner<{ verbosity: number }>;

  constructor(bus: Bus) {
    this.#facts = bus.owner(nodeLogLevel);
    this.#facts.complete();
  }

  /**
   * Has every process of the node say as much from now on, until this one starts anew. Returns the reference's own
   * texts.
   *
   * @param asked klog's verbosity, in decimal digits and nothing else.
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
