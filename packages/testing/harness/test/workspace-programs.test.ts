import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Program, getPreEmitDiagnostics } from 'typescript';
import { writeFiles } from './write-files.ts';

const script = new URL('../../../../scripts/workspace-programs.mjs', import.meta.url);
const { workspacePrograms } = (await import(fileURLToPath(script))) as {
  workspacePrograms: (root: string) => Program[];
};

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kubus-programs-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const config = (options: object) =>
  JSON.stringify({ compilerOptions: { noEmit: true, ...options }, include: ['*.ts'] });

test('packages with the same options are one program, and every file is checked with its own options', async () => {
  await writeFiles(root, {
    'types/said/index.d.ts': 'declare const said: string;',
    'packages/bus/a/tsconfig.json': config({ typeRoots: ['../../../types'], types: ['said'], strict: true }),
    'packages/bus/a/index.ts': 'export const a: string = said;',
    'services/b/tsconfig.json': config({ typeRoots: ['../../types'], types: ['said'], strict: true }),
    'services/b/index.ts': `import { a } from '../../packages/bus/a/index'; export const b: number = a;`,
    'packages/decisions/pure/tsconfig.json': config({ types: [], strict: true }),
    'packages/decisions/pure/index.ts': 'export const pure = said;',
    'packages/decisions/pure/test/tsconfig.json': config({ types: [], strict: false }),
    'packages/decisions/pure/test/it.ts': 'export const none: string = null;',
  });
  const found = workspacePrograms(root).map((program) =>
    getPreEmitDiagnostics(program).map(({ file, code }) => `${relative(root, file?.fileName ?? '')} ${code}`),
  );
  expect(found).toHaveLength(3);
  // TS2304: no such name. TS2322: not assignable.
  expect(found.flat().sort()).toEqual(['packages/decisions/pure/index.ts 2304', 'services/b/index.ts 2322']);
  expect(found.at(-1)).toEqual(['services/b/index.ts 2322']);
});

test('an unreadable configuration is reported by name', async () => {
  await writeFiles(root, { 'packages/bus/a/tsconfig.json': '{"extends": "./none.json"}' });
  expect(() => workspacePrograms(root)).toThrow(/packages\/bus\/a\/tsconfig\.json: .*none\.json/);
});
