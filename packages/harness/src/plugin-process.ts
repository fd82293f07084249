import { Conditions } from '@kubus/ports/testing';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { HarnessError } from './errors.ts';

/** What every plugin for tests tells of itself, besides words of its own. */
export type PluginWord = { readonly word: 'ready' | 'understood' };

export interface PluginProcessOptions<Word> {
  /** For people. */
  readonly name: string;
  /** Its program, a file beside this one, and what it is started with. */
  readonly program: string;
  readonly setup: object;
  /** Takes a word of its own. */
  readonly hear: (word: Word) => void;
}

/** A plugin for tests: a process that can be told what is to go wrong, ended, and started again. */
export class PluginProcess<Word extends { readonly word: string }, Order extends object> {
  readonly #options: PluginProcessOptions<Word>;
  readonly #conditions = new Conditions();
  #process: ChildProcess | undefined;
  #ready = false;
  #understood = 0;

  constructor(options: PluginProcessOptions<Word>) {
    this.#options = options;
  }

  /** Starts the process; where one is dying, after its end. */
  async live(): Promise<void> {
    const { name, program, setup } = this.#options;
    await this.until(() => this.#process === undefined);
    const process = fork(join(import.meta.dirname, program), [JSON.stringify(setup)], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#process = process;
    this.#ready = false;
    process.on('message', (word: Word | PluginWord) => this.#hear(word));
    process.on('exit', () => {
      if (this.#process === process) this.#process = undefined;
      this.#conditions.look();
    });
    await this.until(() => this.#isReady() || this.#process === undefined);
    if (!this.#isReady()) throw new HarnessError('NotStarted', `the plugin ${name} did not start`);
  }

  get running(): boolean {
    return this.#process !== undefined;
  }

  /** Resolves when `condition` holds; it is looked at after each word of the process. */
  until(condition: () => boolean): Promise<void> {
    return this.#conditions.until(condition);
  }

  /** Tells the process something; resolves when it has understood it, or has ended. */
  async order(order: Order): Promise<void> {
    const { name } = this.#options;
    if (this.#process === undefined) throw new HarnessError('NotRunning', `${name} does not run`);
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

  #hear(word: Word | PluginWord): void {
    if (word.word === 'ready') this.#ready = true;
    else if (word.word === 'understood') this.#understood += 1;
    else this.#options.hear(word as Word);
    this.#conditions.look();
  }
}
