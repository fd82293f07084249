// Lints the whole workspace: `pnpm lint`. As `eslint .` does, but each type is worked out once and not once a package.
import { resolve } from 'node:path';
import { ESLint } from 'eslint';
import { workspacePrograms } from './workspace-programs.mjs';

const root = resolve(import.meta.dirname, '..');
const eslint = new ESLint({
  cwd: root,
  overrideConfig: {
    files: ['**/*.{ts,tsx}'],
    languageOptions: { parserOptions: { projectService: false, programs: workspacePrograms(root) } },
  },
});
const results = await eslint.lintFiles(['.']);
const formatter = await eslint.loadFormatter('stylish');
process.stdout.write(await formatter.format(results));
process.exitCode = results.some(({ errorCount }) => errorCount > 0) ? 1 : 0;
