import { type LogLine, type LogStream, timeNanos } from '@kubus/container-log';

/** What is shown of a log, and how. */
export interface LogView {
  /** At most so many lines of what is there at the beginning; Infinity: all. */
  readonly tail: number;
  /** Only lines written at or after this time, nanoseconds since the Unix epoch. */
  readonly sinceNanos: bigint | undefined;
  /** Not more than so many bytes, times included; Infinity: all. The last line may be cut. */
  readonly limitBytes: number;
  /** Each line after its time. */
  readonly timestamps: boolean;
  /** Only what was written to this one; left out: to both. */
  readonly stream?: LogStream | undefined;
  /** Put before each line; does not count for the limit. */
  readonly prefix: string;
  /** Takes the next bytes; nothing more is read before it is done with them. */
  readonly write: (bytes: Uint8Array) => void | Promise<void>;
}

const LINE_END = Buffer.from('\n');

/** Writes lines as the view wants them. */
export class LogOutput {
  readonly #view: LogView;
  #left: number;

  constructor(view: LogView) {
    this.#view = view;
    this.#left = view.limitBytes;
  }

  /** As much was written as was asked for. */
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

/** With nine digits of the second, as the reference shows times; runtimes leave out zeros at the end. */
function fixedWidth(time: string): string {
  return time.replace(/(:\d{2})(?:\.(\d{1,9}))?(?=Z|[+-])/, (_, second: string, fraction = '') => {
    return `${second}.${String(fraction).padEnd(9, '0')}`;
  });
}
