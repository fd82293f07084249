import type { LogLine, LogStream } from '@kubus/container-log';
import { timeNanos } from '@kubus/pod';

/** The selection and format of a log's output. */
export interface LogView {
  /** Maximum number of lines that exist at the start; Infinity: all. */
  readonly tail: number;
  /** Only lines written at or after this time, nanoseconds since the Unix epoch. */
  readonly sinceNanos: bigint | undefined;
  /** Maximum number of bytes, timestamps included; Infinity: all. The last line may be cut. */
  readonly limitBytes: number;
  /** Prefix each line with its timestamp. */
  readonly timestamps: boolean;
  /** Only lines of this stream; default: both. */
  readonly stream?: LogStream | undefined;
  /** Prefix of each line; not counted by the limit. */
  readonly prefix: string;
  /** Consumes the next bytes; no more are read before it resolves. */
  readonly write: (bytes: Uint8Array) => void | Promise<void>;
}

const LINE_END = Buffer.from('\n');

/** Writes lines as configured by the view. */
export class LogOutput {
  readonly #view: LogView;
  #left: number;

  constructor(view: LogView) {
    this.#view = view;
    this.#left = view.limitBytes;
  }

  /** The limit is reached. */
  get full(): boolean {
    return this.#left <= 0;
  }

  async print(lines: readonly LogLine[]): Promise<void> {
    const bytes = lines.flatMap((line) => (this.#isWanted(line) ? this.#show(line) : []));
    if (bytes.length > 0) await this.#view.write(Buffer.concat(bytes));
  }

  #isWanted({ time }: LogLine): boolean {
    const { sinceNanos } = this.#view;
    return sinceNanos === undefined || (timeNanos(time) ?? 0n) >= sinceNanos;
  }

  #show({ time, parts, begins, ends }: LogLine): Uint8Array[] {
    const { prefix, timestamps } = this.#view;
    if (this.full) return [];
    const stamp = begins && timestamps ? [Buffer.from(`${fixedWidth(time)} `)] : [];
    const whole = Buffer.concat([...stamp, ...parts, ...(ends ? [LINE_END] : [])]);
    const shown = whole.subarray(0, Math.min(whole.length, this.#left));
    this.#left -= shown.length;
    return begins && prefix !== '' ? [Buffer.from(prefix), shown] : [shown];
  }
}

/** With nine fractional digits, as in the reference; runtimes omit trailing zeros. */
function fixedWidth(time: string): string {
  return time.replace(/(:\d{2})(?:\.(\d{1,9}))?(?=Z|[+-])/, (_, second: string, fraction = '') => {
    return `${second}.${String(fraction).padEnd(9, '0')}`;
  });
}
