import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A test process that writes lines of JSON. */
export class TestProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  readonly #said: Record<string, unknown>[] = [];
  readonly #listeners = new Set<() => void>();
  #stderr = '';
  #closed = false;

  /** @param file a program beside this one. */
  constructor(file: string, args: readonly string[] = []) {
    const program = new URL(file, import.meta.url).pathname;
    this.#child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error('the process has no output');
    this.#exit = once(this.#child, 'close').then(() => {
      this.#closed = true;
      this.#tell();
    });
    createInterface({ input: stdout }).on('line', (line) => {
      this.#said.push(JSON.parse(line) as Record<string, unknown>);
      this.#tell();
    });
    stderr.on('data', (data: Buffer) => (this.#stderr += data.toString()));
  }

  /** Everything that it has written. */
  get said(): readonly Record<string, unknown>[] {
    return this.#said;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** The first matching line from `from` on. Fails when the process ends without it. */
  async line(wanted: (line: Record<string, unknown>) => boolean, from = 0): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.#said.slice(from).find(wanted);
      if (found !== undefined) return found;
      if (this.#closed) throw new Error(`the process ended: ${JSON.stringify(this.#said)} ${this.#stderr}`);
      await new Promise<void>((resolve) => this.#listeners.add(resolve));
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves with the exit code, null if it was killed by a signal, when all of its output has been read. */
  async exited(): Promise<number | null> {
    await this.#exit;
    return this.#child.exitCode;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
