import { runProgram } from '@kubus/filesystem';
import { ConcurrencyLimit } from '@kubus/flow';

/** How long du(1) may take for one volume, in milliseconds. */
const LIMIT_MS = 120_000;

const oneAtATime = new ConcurrencyLimit(1);

/**
 * Disk usage of a folder in bytes or files: allocated blocks, each file once, other file systems left out
 * (behaviour:eviction, local storage). Undefined when it cannot be read. du(1) measures it, one folder at a time and
 * at the lowest priority: there may be more files than this process can read without delaying other work.
 */
export async function diskUsage(folder: string, of: 'bytes' | 'inodes' = 'bytes'): Promise<bigint | undefined> {
  const unit = of === 'bytes' ? '--block-size=1' : '--inodes';
  const command = ['nice', '-n', '19', 'du', '--summarize', '--one-file-system', unit, '--', folder];
  const { stdout } = await oneAtATime.run(() => runProgram(command, LIMIT_MS));
  // When a file vanishes, du counts the rest and fails.
  const bytes = /^\d+/.exec(stdout)?.[0];
  return bytes === undefined ? undefined : BigInt(bytes);
}
