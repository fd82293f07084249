// Checks that what comments cite exists: a part of `pnpm lint`. `rule:NAME` is a heading of docs/rules.md, and
// `behaviour:NAME` one of docs/kubelet-behaviour.md: "## `NAME`". A citation of anything that is not in the repository is refused.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const documents = { rule: 'docs/rules.md', behaviour: 'docs/kubelet-behaviour.md' };
const cited = /\b(rule|behaviour):([a-z][a-z0-9-]*)/g;
/** Numbered parts of documents that lie outside of the repository. */
const elsewhere = /\bDESIGN(\.md)? (rule|section|[0-9§])|\bDESIGN\.md|\bkubelet behaviou?r [0-9]/g;

/**
 * @param {string} root the checkout
 * @returns {Promise<string[]>} one line for each citation of something that does not exist
 */
export async function wrongCitations(root) {
  const { stdout } = await promisify(execFile)(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '-z'],
    {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const names = Object.fromEntries(
    await Promise.all(Object.entries(documents).map(async ([kind, file]) => [kind, await headings(join(root, file))])),
  );
  const files = stdout.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
  const found = await Promise.all(
    files.map(async (file) => {
      const lines = (await readFile(join(root, file), 'utf8')).split('\n');
      return lines.flatMap((line, index) => wrongIn(line, names).map((what) => `${file}:${index + 1}: ${what}`));
    }),
  );
  return found.flat();
}

function wrongIn(line, names) {
  return [
    ...[...line.matchAll(cited)]
      .filter(([, kind, name]) => !names[kind].has(name))
      .map(([text, kind]) => `${text} is no heading of ${documents[kind]}`),
    ...[...line.matchAll(elsewhere)].map(
      ([text]) => `"${text}" is not in the repository: cite rule:NAME or behaviour:NAME`,
    ),
  ];
}

async function headings(file) {
  const text = await readFile(file, 'utf8');
  return new Set([...text.matchAll(/^#+ `([^`]+)`\s*$/gm)].map(([, name]) => name));
}
