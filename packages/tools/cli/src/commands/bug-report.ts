import { nodeDir } from '@kubus/launcher';
import type { Command } from 'commander';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { milliseconds } from '../duration-option.ts';
import { requireRoot } from '../node/require-root.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print, printError } from '../output/output.ts';
import { UserError } from '../user-error.ts';

interface ReportOptions {
  /** Milliseconds. */
  readonly since: number;
  readonly output?: 'json' | 'yaml';
}

const DEFAULT_SINCE_MS = 10 * 60 * 1000;

export function addBugReport(program: Command): void {
  program
    .command('bug-report')
    .argument('[file]', 'file to write; default: kubus-NODE-TIME.tar.gz')
    .description('pack versions, status, the last messages and the logs of a node for a bug report, without secrets')
    .option('--since <duration>', 'how far back the messages go (default: 10m)', milliseconds, DEFAULT_SINCE_MS)
    .addOption(outputOption())
    .action(async (file: string | undefined, { since, output }: ReportOptions, command: Command) => {
      requireRoot('bug-report');
      const { node } = command.optsWithGlobals<{ node: string }>();
      const name = `kubus-${node}-${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}`;
      const target = resolve(file ?? `${name}.tar.gz`);
      const notes = await pack(node, { name, target, since });
      if (output !== undefined) printKubusDocument('BugReport', { file: target, notes }, output);
      else {
        for (const note of notes) printError(`kubus: not collected: ${note}`);
        print(`${target} is written: look through it before you send it; names and commands of pods are in it`);
      }
    });
}

/** Packs the report into a file that only its owner can read. */
async function pack(
  node: string,
  { name, target, since }: { name: string; target: string; since: number },
): Promise<string[]> {
  // Imported only here: it contains much that no other command needs.
  const { collect } = await import('../bug-report/collect.ts');
  const work = await mkdtemp(join(tmpdir(), 'kubus-report-'));
  try {
    const folder = join(work, name);
    await mkdir(folder, { mode: 0o700 });
    const notes = await collect(nodeDir(node), folder, since);
    const part = `${target}.new`;
    await promisify(execFile)('tar', ['-czf', part, '-C', work, name]);
    await chmod(part, 0o600);
    await rename(part, target);
    return notes;
  } catch (error) {
    await rm(`${target}.new`, { force: true });
    throw new UserError(`cannot write ${target}: ${String(error)}`, { cause: error });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
