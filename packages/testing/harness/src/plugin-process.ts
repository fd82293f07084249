import { Conditions } from '@kubus/ports/testing';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { HarnessError } from './errors.ts';

/** The messages of every plugin for tests, besides its own ones. */
export type PluginWord = { readonly word: 'ready' | 'understood' };

export interface PluginProcessOptions<Word> {
  /** The plugin's name, for error texts. */
  readonly name: string;
  /** Its program, a file beside this one, and its arguments. */
  readonly program: string;
  readonly setup: object;
  /** Handles a message of the plugin's own kind. */
  readonly onMessage: (word: Word) => void;
}

/** A plugin for tests: a process that fails on request, and can be ended and started again. */
export class PluginProcess<Word extends { readonly word: string }, Order extends object> {
  readonly #options: PluginProcessOptions<Word>;
  readonly #conditions = new Conditions();
  #process: ChildProcess | undefined;
  #ready = false;
  #understood = 0;

  constructor(options: PluginProcessOptions<Word>) {
    this.#options = options;
  }

  /** Starts the process; waits first for the end of one that is dying. */
  async live(): Promise<void> {
    const { name, program, setup } = this.#options;
    await this.until(() => this.#process === undefined);
    const process = fork(join(import.meta.dirname, program), [JSON.stringify(setup)], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#process = process;
    this.#ready = false;
    process.on('message', (word: Word | PluginWord) => this.#onMessage(word));
    process.on('exit', () => {
      if (this.#process === process) this.#process = undefined;
      this.#conditions.changed();
    });
    await this.until(() => this.#isReady() || this.#process === undefined);
    if (!this.#isReady()) throw new HarnessError('NotStarted', `plugin ${name} did not start`);
  }

  get running(): boolean {
    return this.#process !== undefined;
  }

  /** Resolves when `condition` holds; it is checked after each message of the process. */
  until(condition: () => boolean): Promise<void> {
    return this.#conditions.until(condition);
  }

  /** Sends a message to the process; resolves when the process has confirmed it, or has ended. */
  async order(order: Order): Promise<void> {
    const { name } = this.#options;
    if (this.#process === undefined) throw new HarnessError('NotRunning', `plugin ${name} is not running`);
    const understood = this.#understood + 1;
    this.#process.send(order);
    await this.until(() => this.#understood >= understood || !this.running);
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    const ended = once(process, 'exit');
    process.kill(signal);
    await ended;
  }

  #isReady(): boolean {
    return this.#ready;
  }

  #onMessage(word: Word | PluginWord): void {
    if (word.word === 'ready') this.#ready = true;
    else if (word.word === 'understood') this.#understood += 1;
    else this.#options.onMessage(word as Word);
    this.#conditions.changed();
  }
}
