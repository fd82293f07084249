import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { writeFiles } from './write-files.ts';

const script = (name: string) => fileURLToPath(new URL(`../../../../scripts/${name}.mjs`, import.meta.url));
const { wrongCitations } = (await import(script('citations'))) as {
  wrongCitations: (root: string) => Promise<string[]>;
};
const { lintKeys } = (await import(script('lint-keys'))) as { lintKeys: (root: string) => Map<string, string> };

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kubus-lint-'));
  execFileSync('git', ['init', '--quiet', root]);
});
afterEach(() => rm(root, { recursive: true, force: true }));

// Built from parts, since this file is searched for citations too.
const [missingRule, missingBehaviour, elsewhere] = [
  ['rule', 'hint'].join(':'),
  ['behaviour', 'hints'].join(':'),
  ['DESIGN', 'rule'].join(' '),
];

test('a citation of a missing heading or of a missing document is reported', async () => {
  await writeFiles(root, {
    'docs/rules.md': '# Rules\n\n## 1. Hints\n\n### `hints`\n',
    'docs/kubelet-behaviour.md': '## `probes`\n',
    'a.ts': '// rule:hints and behaviour:probes\n',
    'b.ts': `\n// ${missingRule}, ${missingBehaviour}, ${elsewhere} 4\n`,
  });
  expect(await wrongCitations(root)).toEqual([
    `b.ts:2: ${missingRule} is no heading of docs/rules.md`,
    `b.ts:2: ${missingBehaviour} is no heading of docs/kubelet-behaviour.md`,
    `b.ts:2: "${elsewhere}" is not in the repository: cite rule:NAME or behaviour:NAME`,
  ]);
});

test('import cycles are reported, except those of types only', async () => {
  await writeFiles(root, {
    'services/a/src/one.ts': `import { two } from './two.ts'; export const one = two; export type One = string;`,
    'services/a/src/two.ts': `import type { One } from './one.ts'; export const two: One = 'two';`,
    'services/a/src/three.ts': `import { four } from './four.ts'; export const three = (): string => four;`,
    'services/a/src/four.ts': `import { five } from './five.ts'; export const four: string = five();`,
    'services/a/src/five.ts': `import { three } from './three.ts'; export const five = (): string => three();`,
    'services/a/src/six.ts': `export const six = () => import('./seven.ts');`,
    'services/a/src/seven.ts': `import { six } from './six.ts'; export const seven = six;`,
  });
  const find = `
    import { importCycles } from ${JSON.stringify(script('import-cycles'))};
    console.log(JSON.stringify(await importCycles(process.cwd())));
  `;
  const found = execFileSync(process.execPath, ['--input-type=module', '--eval', find], {
    cwd: root,
    encoding: 'utf8',
  });
  const cycles = (JSON.parse(found) as string[]).map((cycle) => [...new Set(cycle.split(' -> '))].sort());
  expect(cycles).toEqual([['five', 'four', 'three'].map((name) => `services/a/src/${name}.ts`)]);
});

test('a file is linted again when it or one of its imports changes', async () => {
  const files = {
    'pnpm-lock.yaml': '1',
    'packages/bus/bus/package.json': '{"name": "@kubus/bus", "exports": {".": "./src/index.ts"}}',
    'packages/bus/bus/src/index.ts': `export * from './bus.ts';`,
    'packages/bus/bus/src/bus.ts': `export type Bus = string;`,
    'services/a/src/main.ts': `import type { Bus } from '@kubus/bus'; export const bus: Bus = '';`,
    'services/a/src/other.ts': 'export {};',
  };
  await writeFiles(root, files);
  let before = lintKeys(root);
  const changed = () => {
    const now = lintKeys(root);
    const names = [...now].filter(([path, key]) => before.get(path) !== key).map(([path]) => relative(root, path));
    before = now;
    return names.sort();
  };
  expect(changed()).toEqual([]);
  await writeFiles(root, { 'packages/bus/bus/src/bus.ts': 'export type Bus = number;' });
  expect(changed()).toEqual(['packages/bus/bus/src/bus.ts', 'packages/bus/bus/src/index.ts', 'services/a/src/main.ts']);
  await writeFiles(root, { 'services/a/src/other.ts': 'export const other = 1;' });
  expect(changed()).toEqual(['services/a/src/other.ts']);
  await writeFiles(root, { 'pnpm-lock.yaml': '2' });
  expect(changed()).toHaveLength(4);
});
