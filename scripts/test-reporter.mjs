// Jest's reporter in `./kubus test`: shows the progress of the run, and immediately why a file failed.
import { relative, resolve } from 'node:path';
import { Progress, progressLine } from './test-progress.mjs';

const root = resolve(import.meta.dirname, '..');

export default class Reporter {
  /** The name of the run, in a word: set by scripts/test.mjs. */
  #what = process.env.KUBUS_TEST_WHAT ?? 'tests';
  #progress = new Progress(process.stdout);
  #running = new Set();
  #started = performance.now();
  #done = 0;
  #of = 0;
  #failed = 0;
  #ticker;

  onRunStart({ numTotalTestSuites }) {
    this.#of = numTotalTestSuites;
    this.#ticker = setInterval(() => this.#show(), 1_000);
  }

  onTestFileStart({ path }) {
    this.#running.add(relative(root, path));
    this.#show();
  }

  onTestFileResult({ path }, { failureMessage, numFailingTests, testExecError, console: said }) {
    const name = relative(root, path);
    this.#running.delete(name);
    this.#done += 1;
    if (numFailingTests > 0 || testExecError) {
      this.#failed += 1;
      const output = (said ?? []).map(({ message }) => `    ${message}\n`).join('');
      this.#progress.print(`FAIL ${name}\n${output}${failureMessage ?? ''}`);
    }
    this.#show();
  }

  onRunComplete() {
    clearInterval(this.#ticker);
    this.#progress.print(progressLine(this.#state()));
  }

  #show() {
    this.#progress.set(progressLine(this.#state()));
  }

  #state() {
    return {
      what: this.#what,
      done: this.#done,
      of: this.#of,
      failed: this.#failed,
      seconds: (performance.now() - this.#started) / 1000,
      running: [...this.#running],
    };
  }
}
