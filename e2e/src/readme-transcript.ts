import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkout } from '@kubus/harness';

/** A command of the README's quick start, with the lines that it prints there. */
export interface TranscriptStep {
  /** Words after `./kubus`. */
  readonly words: readonly string[];
  readonly lines: readonly string[];
}

/**
 * The commands of the README's first console block.
 *
 * @throws Error when the README has no such block, or a command that is not `./kubus`.
 */
export async function readmeTranscript(): Promise<readonly TranscriptStep[]> {
  const readme = await readFile(join(checkout, 'README.md'), 'utf8');
  const block = /^```console\n(.*?)^```$/ms.exec(readme)?.[1];
  if (block === undefined) throw new Error('README.md has no block ```console');
  return block
    .split(/^# /m)
    .slice(1)
    .map((step) => {
      const [command = '', ...lines] = step.trimEnd().split('\n');
      const [program, ...words] = command.split(' ');
      if (program !== './kubus') throw new Error(`README.md: "${command}" is not a command of ./kubus`);
      return { words, lines };
    });
}

/** A printed line without what differs from run to run: the node's name, addresses, ages and the width of columns. */
export function shapeOf(line: string, node: string): string {
  return line
    .replaceAll(node, 'node0')
    .replaceAll(/\b\d+\.\d+\.\d+\.\d+\b/g, 'IP')
    .replaceAll(/\b\d+(ms|s|m)(\d+s)?(?=\s|$)/g, 'AGE')
    .replaceAll(/ +/g, ' ')
    .trim();
}
