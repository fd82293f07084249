import { connectNode } from '/work/wt-story/packages/cli/src/node-link.ts';
import { writeFileSync } from 'node:fs';
const link = await connectNode('story');
const all = await link.record('>');
writeFileSync('/tmp/story-all.json', JSON.stringify(all.map(({message})=>message)));
console.log(all.length);
process.exit(0);
