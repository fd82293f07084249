import { readFile } from 'node:fs/promises';

/** A block of commands of a page, and the heading above it. */
export interface CommandBlock {
  readonly heading: string;
  /** A script for a shell. */
  readonly script: string;
}

/**
 * The commands of a page: its blocks ```sh, in their order.
 *
 * @throws Error when it has none.
 */
export async function documentedCommands(page: string): Promise<readonly CommandBlock[]> {
  const text = await readFile(page, 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(({ 1: script = '', index }) => ({
    heading: [...text.slice(0, index).matchAll(/^## (.*)$/gm)].at(-1)?.[1] ?? '',
    script,
  }));
  if (blocks.length === 0) throw new Error(`${page} has no block \`\`\`sh`);
  return blocks;
}
