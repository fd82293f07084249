// Shared by the tests of this package: a temporary folder, a logger that keeps its lines, the machine's clock, the shim.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach } from '@jest/globals';
import type { PluginOutput } from '@kubus/cni-config';
import type { Clock, Logger } from '@kubus/ports';
import type { ProgramRunner } from '../src/program.ts';
import { installShim, linkShimSocket } from '../src/shim-install.ts';
import { ShimServer } from '../src/shim-server.ts';

const undo: (() => unknown)[] = [];

/** Runs `action` after the current test, whatever its result; the latest first. */
export function afterTest(action: () => unknown): void {
  undo.push(action);
}

afterEach(async () => {
  for (let action = undo.pop(); action !== undefined; action = undo.pop()) {
    await action();
  }
});

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kubus-cni-'));
  afterTest(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const clock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
};

/** A logger that keeps its lines. */
export function recordingLogger(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  const keep = (_: unknown, message: string) => void lines.push(message);
  const logger = { lines, debug: keep, info: keep, warn: keep, error: keep, child: () => logger };
  return logger;
}

/** Compiles the shim into `folder`, as kubus-cni and loopback. */
export function buildShim(folder: string): void {
  execFileSync(process.execPath, [join(import.meta.dirname, '../scripts/build-shim.mjs'), folder]);
}

let compiledShim: string | undefined;

/** A compiled shim, the same for all tests of a file. */
function shimOfFile(): string {
  if (compiledShim === undefined) {
    compiledShim = mkdtempSync(join(tmpdir(), 'kubus-cni-shim-'));
    buildShim(compiledShim);
  }
  return join(compiledShim, 'kubus-cni');
}

afterAll(() => {
  if (compiledShim !== undefined) rmSync(compiledShim, { recursive: true });
  compiledShim = undefined;
});

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export async function run(
  program: string,
  { env = {}, stdin = '' }: { env?: Record<string, string>; stdin?: string | Buffer } = {},
): Promise<Ended> {
  const child = spawn(program, { env });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve);
    child.once('error', reject);
  });
  afterTest(() => child.kill('SIGKILL'));
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  const [exitCode, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { exitCode, stdout, stderr };
}

export interface HeldShim {
  /** The shim as a runner of programs. */
  readonly programs: ProgramRunner;
  readonly child: ChildProcess;
  readonly server: ShimServer;
  /** Answers its call. */
  readonly answer: (output: PluginOutput) => void;
  /** Its output when it has ended, or the signal that killed it. */
  readonly ended: Promise<{ readonly signal: string | null; readonly stdout: string }>;
}

/** A shim whose call waits for its answer until the test has ended. */
export async function heldShim(): Promise<HeldShim> {
  const folder = temporaryFolder();
  await installShim(shimOfFile(), folder);
  const socketPath = join(folder, 'run', 's');
  await linkShimSocket(folder, socketPath);
  const called = Promise.withResolvers<ProgramRunner>();
  const answered = Promise.withResolvers<PluginOutput>();
  const server = new ShimServer({
    socketPath,
    logger: recordingLogger(),
    handle: (_, programs) => {
      if (programs === undefined) {
        called.reject(new Error('the shim does not run programs'));
      } else {
        called.resolve(programs);
      }
      return answered.promise;
    },
  });
  await server.listen();
  const child = spawn(join(folder, 'kubus-cni'), { env: { CNI_COMMAND: 'ADD' } });
  const ended = Promise.all([text(child.stdout), once(child, 'exit')]).then(([stdout, [, signal]]) => ({
    stdout,
    signal: signal as string | null,
  }));
  afterTest(async () => {
    child.kill('SIGKILL');
    await server.close();
    await ended;
  });
  child.stdin.end('{}');
  return { programs: await called.promise, child, server, answer: answered.resolve, ended };
}
