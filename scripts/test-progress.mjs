// Shows the progress of a long run: on a terminal one line that is overwritten, elsewhere a line from time to time.

/** How often a line is written where lines are not overwritten, in milliseconds. */
const SELDOM_MS = 30_000;

/**
 * @param {object} state
 * @param {string} state.what
 * @param {number} state.done files
 * @param {number} state.of files
 * @param {number} state.failed files
 * @param {number} state.seconds since the start
 * @param {readonly string[]} state.running files
 * @returns {string}
 */
export function progressLine({ what, done, of, failed, seconds, running }) {
  const failures = failed === 0 ? '' : `, ${failed} failed`;
  const now = running.length === 0 ? '' : `: ${running.join(', ')}`;
  return `${what}: file ${done} of ${of}${failures}, ${Math.round(seconds)} s${now}`;
}

/** Writes progress to an output. `set` may be called at any rate; `print` writes permanent lines. */
export class Progress {
  #output;
  #now;
  #last;

  /**
   * @param {{ isTTY?: boolean, columns?: number, write(text: string): unknown }} output
   * @param {() => number} now milliseconds
   */
  constructor(output, now = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#last = now();
  }

  set(line) {
    if (this.#output.isTTY) {
      this.#output.write(`\r\u001b[K${line.slice(0, (this.#output.columns ?? 80) - 1)}`);
    } else if (this.#now() - this.#last >= SELDOM_MS) {
      this.#last = this.#now();
      this.#output.write(`${line}\n`);
    }
  }

  print(text) {
    this.clear();
    this.#output.write(`${text}\n`);
  }

  clear() {
    if (this.#output.isTTY) this.#output.write('\r\u001b[K');
  }
}
