// Writes content into a folder, and is killed just before the n-th file operation.
import fs, { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/** The argument of the process, as JSON. */
export interface KilledWriter {
  readonly folder: string;
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly killAt: number;
}

const { folder, files, killAt } = JSON.parse(process.argv[2] ?? '') as KilledWriter;

type Calls = Record<string, (...args: unknown[]) => Promise<unknown>>;

let calls = 0;
function counted(object: Calls, names: readonly string[]): void {
  for (const name of names) {
    const original = object[name];
    object[name] = function (this: unknown, ...args) {
      calls += 1;
      if (calls === killAt) process.kill(process.pid, 'SIGKILL');
      return original?.apply(this, args) ?? Promise.reject(new Error(name));
    };
  }
}

const opened = await open('/dev/null');
counted(Object.getPrototypeOf(opened) as Calls, ['writeFile', 'chown', 'chmod', 'close']);
await opened.close();
calls = 0;
counted(fs as unknown as Calls, ['chmod', 'lchown', 'mkdir', 'mkdtemp', 'open', 'rename', 'rm', 'symlink']);
syncBuiltinESMExports();

const { writeContent } = await import('../../src/index.ts');
await writeContent(
  folder,
  files.map(({ path, text }) => ({ path, data: Buffer.from(text), mode: 0o644 })),
);
