import { readFileSync } from 'node:fs';
import { settingsTables } from '../src/index.ts';

const path = new URL('../../../../docs/kubelet.md', import.meta.url);

/** The tables are at the end of the page. */
const firstHead = '## Fields of the configuration';

/** The page as it is, and with the current tables. */
export function readPage(): { path: URL; present: string; wanted: string } {
  const present = readFileSync(path, 'utf8');
  const at = present.indexOf(firstHead);
  const text = at < 0 ? present : present.slice(0, at);
  return { path, present, wanted: `${text.trimEnd()}\n\n${settingsTables()}\n` };
}
