import { readFile } from 'node:fs/promises';

/** The commands of the tutorial that write manifests: the blocks that concern only files of the node. */
export async function tutorialFiles(tutorial: string): Promise<string[]> {
  const blocks = [...(await readFile(tutorial, 'utf8')).matchAll(/^```sh\n(.*?)^```/gms)].map(
    ([, block = '']) => block,
  );
  const manifests = blocks
    .map((block) => block.replace(/^\.\/kubus get pods\n/m, ''))
    .filter((block) => block.includes('> /tmp/pods/') && !block.includes('./kubus'));
  if (manifests.length === 0) throw new Error(`${tutorial} writes no manifest`);
  return manifests;
}
