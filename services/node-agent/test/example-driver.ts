import { expect } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const PROGRAM = new URL('../../../examples/dra/driver.ts', import.meta.url).pathname;

/** The example driver of resource claims, as a process. */
export interface ExampleDriver {
  /** Resolves when the node has registered it. */
  readonly registered: Promise<void>;
  /** Resolves when the process is gone, also when it was before. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

export function startExampleDriver(args: readonly string[]): ExampleDriver {
  const started = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const registered = async () => {
    let text = '';
    for await (const chunk of started.stdout) {
      text += String(chunk);
      if (/^registered$/m.test(text)) break;
    }
    expect(text).toMatch(/^registered$/m);
  };
  return {
    registered: registered(),
    end: async (signal) => {
      if (started.exitCode !== null || started.signalCode !== null) return;
      const ended = once(started, 'exit');
      started.kill(signal);
      await ended;
    },
  };
}
