// Lints the whole workspace: `pnpm lint`. Does what `eslint .` does, but computes each type once instead of once a package,
// and checks only the files whose result may have changed since the last time. It also runs the checks that look
// at all files together: unused code (knip), import cycles, and citations.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ESLint } from 'eslint';
import { wrongCitations } from './citations.mjs';
import { importCycles } from './import-cycles.mjs';
import { lintKeys } from './lint-keys.mjs';
import { workspacePrograms } from './workspace-programs.mjs';

const root = resolve(import.meta.dirname, '..');
const knip = spawn(join(root, 'node_modules/.bin/knip'), ['--no-progress'], { cwd: root, stdio: 'inherit' });
const knipEnd = once(knip, 'exit');

const cycles = await importCycles(root).then(
  (found) => found.map((cycle) => `files import each other: ${cycle}`),
  ({ message }) => [message],
);
const problems = [...(await wrongCitations(root)), ...cycles];
for (const problem of problems) console.log(problem);

const isClean = await lint();
const [knipCode] = await knipEnd;
process.exitCode = isClean && problems.length === 0 && knipCode === 0 ? 0 : 1;

async function lint() {
  const noteFile = join(root, 'node_modules/.cache/kubus/lint.json');
  const clean = new Set(JSON.parse(await readFile(noteFile, 'utf8').catch(() => '[]')));
  const keys = lintKeys(root);
  const files = [...keys.keys()].filter((path) => !clean.has(keys.get(path)));
  const results = files.length === 0 ? [] : await lintFiles(files);
  const withMessages = new Set(results.filter(({ messages }) => messages.length > 0).map(({ filePath }) => filePath));
  await mkdir(dirname(noteFile), { recursive: true });
  await writeFile(
    noteFile,
    JSON.stringify([...keys].filter(([path]) => !withMessages.has(path)).map(([, key]) => key)),
  );
  return results.every(({ errorCount }) => errorCount === 0);
}

async function lintFiles(files) {
  const eslint = new ESLint({
    cwd: root,
    warnIgnored: false,
    overrideConfig: {
      files: ['**/*.{ts,tsx}'],
      languageOptions: { parserOptions: { projectService: false, programs: workspacePrograms(root) } },
    },
  });
  const results = await eslint.lintFiles(files);
  const formatter = await eslint.loadFormatter('stylish');
  process.stdout.write(await formatter.format(results));
  return results;
}
