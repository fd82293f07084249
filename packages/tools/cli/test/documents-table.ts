import { readFileSync } from 'node:fs';
import { documents, withoutDocument } from '../src/output/documents.ts';

const path = new URL('../../../../docs/commands.md', import.meta.url);
const BEGIN = '<!-- documents: begin -->';
const END = '<!-- documents: end -->';

/** The page with the description of the documents: as it is, and as it should be. */
export function readDocuments(): { path: URL; present: string; wanted: string } {
  const present = readFileSync(path, 'utf8');
  const rows = Object.entries(documents).map(([kind, { commands, fields }]) => {
    const described = Object.entries(fields).map(([field, text]) => `\`${field}\`: ${text}`);
    return `| \`${kind}\` | ${commands.join(', ')} | ${described.join('; ')} |`;
  });
  const table = ['| kind | command | fields |', '| --- | --- | --- |', ...rows].join('\n');
  const [before = '', after = ''] = [present.split(BEGIN)[0], present.split(END)[1]];
  const others = Object.entries(withoutDocument).map(([command, reason]) => `| ${command} | ${reason} |`);
  const refused = ['| no document | because |', '| --- | --- |', ...others].join('\n');
  return { path, present, wanted: `${before}${BEGIN}\n\n${table}\n\n${refused}\n\n${END}${after}` };
}
