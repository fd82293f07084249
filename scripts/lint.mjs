// Lints the whole workspace and checks its types: `pnpm lint`. Checks only the files whose result may have changed since the last
// time. It also runs the checks that look at all files together: unused code (knip), import cycles, and citations.
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { wrongCitations } from './citations.mjs';
import { importCycles } from './import-cycles.mjs';
import { lintKeys } from './lint-keys.mjs';

const root = resolve(import.meta.dirname, '..');
const unused = run('knip', ['--no-progress']);
const linted = lint();

const cycles = await importCycles(root).then(
  (found) => found.map((cycle) => `files import each other: ${cycle}`),
  ({ message }) => [message],
);
const problems = [...(await wrongCitations(root)), ...cycles];
for (const problem of problems) console.log(problem);
const results = await Promise.all([unused, linted]);
process.exitCode = problems.length === 0 && results.every(({ code }) => code === 0) ? 0 : 1;

async function lint() {
  const noteFile = join(root, 'node_modules/.cache/kubus/lint.json');
  const clean = new Set(JSON.parse(await readFile(noteFile, 'utf8').catch(() => '[]')));
  const keys = lintKeys(root);
  const files = [...keys.keys()].filter((path) => !clean.has(keys.get(path)));
  if (files.length === 0) return { code: 0 };
  const names = files.map((path) => relative(root, path));
  const { code, output } = await run('oxlint', ['--format=json', ...names], { isPrinted: false });
  const found = diagnosticsOf(output);
  for (const { severity, filename, labels, message, help, code: rule } of found) {
    const { line = 1, column = 1 } = labels[0]?.span ?? {};
    console.log(
      `${filename}:${line}:${column}: ${severity}: ${[message, help].filter(Boolean).join(' ')} ${rule ?? ''}`,
    );
  }
  const withProblems = new Set(found.map(({ filename }) => join(root, filename)));
  // A failure that names no file is none of a file's: everything is checked again.
  const noted = code !== 0 && found.length === 0 ? [] : [...keys].filter(([path]) => !withProblems.has(path));
  await mkdir(dirname(noteFile), { recursive: true });
  await writeFile(noteFile, JSON.stringify(noted.map(([, key]) => key)));
  return { code };
}

/** What oxlint has found. What it prints instead when it cannot start is printed as it is. */
function diagnosticsOf(output) {
  try {
    return JSON.parse(output).diagnostics;
  } catch {
    console.log(output);
    return [];
  }
}

/** Runs a program of the workspace. What it prints is printed, unless asked otherwise, and returned. */
async function run(program, args, { isPrinted = true } = {}) {
  const { promise, resolve: end, reject } = Promise.withResolvers();
  const child = spawn(join(root, 'node_modules/.bin', program), args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    if (isPrinted) process.stdout.write(text);
  });
  child.on('error', reject);
  child.on('close', (code) => end({ code, output }));
  return promise;
}
