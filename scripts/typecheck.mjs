// Checks the types of the whole workspace: `pnpm typecheck`.
import { resolve } from 'node:path';
import ts from 'typescript';
import { workspacePrograms } from './workspace-programs.mjs';

const root = resolve(import.meta.dirname, '..');
const programs = workspacePrograms(root);
const found = ts.sortAndDeduplicateDiagnostics(programs.flatMap((program) => ts.getPreEmitDiagnostics(program)));
const host = { getCurrentDirectory: () => root, getCanonicalFileName: (name) => name, getNewLine: () => '\n' };
process.stderr.write(ts.formatDiagnostics(found, host));
process.exitCode = found.length === 0 ? 0 : 1;
