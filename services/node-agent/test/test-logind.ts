import { startCommand, type RunningCommand, testCache } from '@kubus/harness';
import { compileStatic } from '@kubus/node-images';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const programs = ['dbus-daemon', 'busctl', 'systemd-inhibit'];

/** Whether this machine has a message bus, and the programs of systemd that ask on it. */
export const hasLogindPrograms = programs.every((name) =>
  (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, name))),
);

/** A logind on a message bus of its own. */
export class TestLogind {
  /** Of its configuration. */
  readonly folder: string;
  readonly #bus: RunningCommand;
  readonly #logind: RunningCommand;

  static async start(): Promise<TestLogind> {
    const folder = await mkdtemp(join(tmpdir(), 'kubus-logind-'));
    const socket = join(folder, 'bus');
    const bus = startCommand(
      'dbus-daemon',
      ['--session', '--nofork', '--nopidfile', '--print-address', `--address=unix:path=${socket}`],
      {},
    );
    await bus.waitForOutput(/unix:path/);
    const program = await compileStatic(fileURLToPath(new URL('./logind.c', import.meta.url)), testCache());
    const logind = startCommand(program, [socket, join(folder, '99-kubelet.conf')], {});
    await logind.waitForOutput(/ready/);
    return new TestLogind(folder, bus, logind);
  }

  private constructor(folder: string, bus: RunningCommand, logind: RunningCommand) {
    this.folder = folder;
    this.#bus = bus;
    this.#logind = logind;
  }

  /** The environment of programs that take the bus for the system's. */
  get env(): NodeJS.ProcessEnv {
    return { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${join(this.folder, 'bus')}` };
  }

  /** Begins a shutdown of the machine. */
  shutDown(): void {
    this.#logind.child.kill('SIGUSR1');
  }

  cancel(): void {
    this.#logind.child.kill('SIGUSR2');
  }

  /** What it has said so far: `inhibited`, `released`, `reloaded`. */
  get said(): string[] {
    return this.#logind.written.stdout.trim().split('\n').slice(1);
  }

  /** Resolves when it has said that `count` times in all. */
  async hears(what: string, count = 1): Promise<void> {
    await this.#logind.waitForOutput(new RegExp(`(${what}\\n[^]*){${count}}`));
  }

  async stop(): Promise<void> {
    await this.#logind.end();
    await this.#bus.end();
    await rm(this.folder, { recursive: true });
  }
}
