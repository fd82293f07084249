// What the lint result of a file depends on. A rule that uses types depends on more than the file: on all that it imports,
// directly or not.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';

/**
 * The key of each TypeScript file of the workspace. While a file's key is the same, its result is the same.
 *
 * @param {string} root the workspace's folder
 * @returns {Map<string, string>} keys by path
 */
export function lintKeys(root) {
  const common = digest(
    ...globSync(['pnpm-lock.yaml', 'oxlint.config.ts', 'scripts/lint*.mjs', 'scripts/*.d.ts'], { cwd: root }),
    ...globSync('{proto,e2e,bench,charts/render,examples/dra,packages/*/*,services/*}/package.json', { cwd: root }),
    ...globSync('{.,proto,packages/*,packages/*/*,packages/*/*/test}/tsconfig*.json', { cwd: root }),
  );
  const exported = exportsOf(root);
  const sources = new Map();
  const sourceOf = (path) => {
    if (!sources.has(path)) sources.set(path, readSource(path, exported));
    return sources.get(path);
  };
  const reachable = (path, found = new Set()) => {
    found.add(path);
    for (const next of sourceOf(path).imports) if (!found.has(next)) reachable(next, found);
    return found;
  };
  return new Map(
    filesOf(root).map((path) => {
      const hash = createHash('sha256').update(common);
      for (const file of [...reachable(path)].sort()) hash.update(file).update(sourceOf(file).digest);
      return [path, hash.digest('base64')];
    }),
  );

  function digest(...files) {
    const hash = createHash('sha256');
    for (const file of files.sort()) hash.update(file).update(readFileSync(join(root, file)));
    return hash.digest();
  }
}

function filesOf(root) {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '*.ts', '*.tsx'];
  return execFileSync('git', list, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)))
    .map((file) => join(root, file));
}

/** The files behind the names by which packages of the workspace can be imported. */
function exportsOf(root) {
  const found = new Map();
  for (const file of globSync('{proto,packages/*/*,services/*}/package.json', { cwd: root })) {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, file), 'utf8'));
    for (const [part, target] of Object.entries(exports)) {
      found.set(name + part.slice(1), join(root, dirname(file), target));
    }
  }
  return found;
}

function readSource(path, exported) {
  if (!existsSync(path)) return { digest: '', imports: [] };
  const text = readFileSync(path, 'utf8');
  const { staticImports, staticExports, dynamicImports } = parseSync(path, text).module;
  const names = [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) => entries.map(({ moduleRequest }) => moduleRequest?.value)),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1)),
  ];
  const imports = names
    .map((name) => (name?.startsWith('.') ? resolve(dirname(path), name) : exported.get(name)))
    .filter((file) => file !== undefined);
  return { digest: createHash('sha256').update(text).digest(), imports };
}
