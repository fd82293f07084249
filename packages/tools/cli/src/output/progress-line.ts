import { escapeControls } from './output.ts';

/** Without a terminal: how often a line is printed, in milliseconds. */
const LINE_MS = 10_000;

/** Shows how far something is: on a terminal in place, elsewhere as a line from time to time. */
export class ProgressLine {
  readonly #stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>;
  #printedAt = performance.now();
  #isOpen = false;

  constructor(stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY'> = process.stderr) {
    this.#stream = stream;
  }

  show(text: string): void {
    const line = escapeControls(text);
    if (this.#stream.isTTY) {
      this.#isOpen = true;
      // The end of a longer line before it is erased.
      this.#stream.write(`\r${line}\u001b[K`);
    } else if (performance.now() - this.#printedAt >= LINE_MS) {
      this.#printedAt = performance.now();
      this.#stream.write(`${line}\n`);
    }
  }

  /** Leaves an empty line for what is printed next. */
  end(): void {
    if (this.#isOpen) this.#stream.write('\r\u001b[K');
    this.#isOpen = false;
  }
}
