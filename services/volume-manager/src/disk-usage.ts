import { runProgram } from '@kubus/mount';
import { Turns } from './turns.ts';

/** How long one volume may be looked at, in milliseconds. */
const LIMIT_MS = 120_000;

const turns = new Turns();

/**
 * Bytes on the disk of all that is in a folder, or the number of its files: of blocks, each file once, without other file systems (kubelet behaviour
 * 1.19, local storage). Undefined when that can not be told. du(1) does it, one at a time and after all who have something
 * to do: there may be more files than this process can look at without being late elsewhere.
 */
export async function diskUsage(folder: string, of: 'bytes' | 'inodes' = 'bytes'): Promise<bigint | undefined> {
  const unit = of === 'bytes' ? '--block-size=1' : '--inodes';
  const command = ['nice', '-n', '19', 'du', '--summarize', '--one-file-system', unit, '--', folder];
  const { stdout } = await turns.run('du', () => runProgram(command, LIMIT_MS));
  // It counts the rest when a file vanishes, and says so with its exit code.
  const bytes = /^\d+/.exec(stdout)?.[0];
  return bytes === undefined ? undefined : BigInt(bytes);
}
