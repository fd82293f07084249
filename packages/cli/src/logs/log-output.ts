import { type LogLine, timeNanos } from '@kubus/container-log';

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
  /** Put before each line; does not count for the limit. */
  readonly prefix: string;
  readonly write: (bytes: Uint8Array) => void;
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

  print(lines: readonly LogLine[]): void {
    const bytes = lines.flatMap((line) => (this.#isWanted(line) ? this.#show(line) : []));
    if (bytes.length > 0) this.#view.write(Buffer.concat(bytes));
  }

  #isWanted({ time }: LogLine): boolean {
    const { sinceNanos } = this.#view;
    return sinceNanos === undefined || (timeNanos(time) ?? 0n) >= sinceNanos;
  }

  #show({ time, parts, begins, ends }: LogLine): Uint8Array[] {
    const { prefix, timestamps } = this.#view;
    if (this.full) return [];
    const stamp = begins && timestamps ? [Buffer.from(`${time} `)] : [];
    const whole = Buffer.concat([...stamp, ...parts, ...(ends ? [LINE_END] : [])]);
    const shown = whole.subarray(0, Math.min(whole.length, this.#left));
    this.#left -= shown.length;
    return begins && prefix !== '' ? [Buffer.from(prefix), shown] : [shown];
  }
}
