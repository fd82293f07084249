import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { writeFiles } from './write-files.ts';

const scripts = fileURLToPath(new URL('../../../../scripts', import.meta.url));
const bundler = join(scripts, 'bundle.mjs');
const { programs: everyProgram, programsOf } = (await import(join(scripts, 'programs.mjs'))) as {
  programs: Record<string, string[]>;
  programsOf: (restarted: string) => string[];
};
const build = `
  import { bundlePrograms } from ${JSON.stringify(bundler)};
  const [programs, wanted] = process.argv.slice(1).map((text) => JSON.parse(text));
  const progress = [];
  const { bundled, left } = await bundlePrograms(process.cwd(), programs, wanted, (...one) => progress.push(one));
  const missed = bundled.filter((one) => !progress.some(([folder]) => folder === one));
  const numbers = progress.map(([, count, all]) => count + '/' + all).join();
  const expected = bundled.map((_, index) => (index + 1) + '/' + bundled.length).join();
  if (missed.length > 0 || numbers !== expected) throw new Error('progress was ' + JSON.stringify(progress));
  console.log([bundled.join(), ...(left.length > 0 ? ['left: ' + left.join()] : [])].join(' '));
`;

let folder: string;
beforeEach(async () => {
  // As esbuild names what it has read: without symbolic links.
  folder = await realpath(await mkdtemp(join(tmpdir(), 'kubus-bundle-')));
  await writeFiles(folder, { 'package.json': '{"version": "0.1.0"}' });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function bundle(
  programs: Record<string, string[]> = { '.': ['src/main.ts'] },
  wanted = Object.keys(programs),
): { status: number | null; stdout: string; stderr: string } {
  const args = ['--input-type=module', '--eval', build, JSON.stringify(programs), JSON.stringify(wanted)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  return { status, stdout: stdout.trim(), stderr };
}

function runBundle(...args: string[]): string {
  return execFileSync(process.execPath, [...args, join(folder, 'dist/main.mjs')], { encoding: 'utf8' });
}

/** With the sources gone and from elsewhere: only what is in `dist` can be used. */
test('a bundle is self-contained, with CommonJS dependencies and the files that it reads', async () => {
  await writeFiles(folder, {
    'src/main.ts': `
      import { readFileSync } from 'node:fs';
      import old from 'old-style';
      import { greet } from './greet.ts';
      declare const KUBUS_VERSION: string;
      console.log(greet(old.here), readFileSync(new URL('../data/list.txt', import.meta.url), 'utf8'), KUBUS_VERSION);
    `,
    'src/greet.ts': `export const greet = (name: string): string => 'hello ' + name;`,
    'data/list.txt': 'one two',
    'node_modules/old-style/package.json': '{"name": "old-style", "main": "index.js"}',
    'node_modules/old-style/index.js': `const { basename } = require('path'); exports.here = basename(__dirname);`,
  });
  expect(bundle()).toEqual({ status: 0, stdout: '.', stderr: '' });
  expect((await readdir(join(folder, 'dist'))).sort()).toEqual(['list.txt', 'main.mjs', 'main.mjs.map']);
  for (const source of ['src', 'data', 'node_modules']) {
    await rm(join(folder, source), { recursive: true });
  }
  expect(runBundle()).toMatch(/^hello dist one two 0\.\d+\.\d+\+[0-9a-f]{12}\n$/);
});

test('the program of a worker thread is bundled too, and shares dependencies', async () => {
  await writeFiles(folder, {
    'src/main.ts': `
      import { Worker } from 'node:worker_threads';
      import { greet } from './greet.ts';
      const thread = new Worker(new URL('./threads/greeter.ts', import.meta.url));
      thread.on('message', (text: string) => console.log(greet('main'), text));
    `,
    'src/threads/greeter.ts': `
      import { parentPort } from 'node:worker_threads';
      import { greet } from '../greet.ts';
      parentPort?.postMessage(greet('thread'));
    `,
    'src/greet.ts': `export const greet = (name: string): string => 'hello ' + name;`,
  });
  const without = bundle();
  expect(without.status).toBe(1);
  expect(without.stderr).toContain('starts a thread with');
  expect(bundle({ '.': ['src/main.ts', 'src/threads/greeter.ts'] })).toEqual({ status: 0, stdout: '.', stderr: '' });
  await rm(join(folder, 'src'), { recursive: true });
  expect(runBundle()).toBe('hello main hello thread\n');
});

test('the same sources give the same bytes; changed sources give another version', async () => {
  const main = (text: string) =>
    `declare const KUBUS_VERSION: string; console.log(${JSON.stringify(text)}, KUBUS_VERSION);`;
  const versions: string[] = [];
  for (const text of ['a', 'a', 'b']) {
    await writeFiles(folder, { 'src/main.ts': main(text) });
    expect(bundle().status).toBe(0);
    versions.push(runBundle().split(' ')[1] ?? '');
  }
  expect(versions[0]).toBe(versions[1]);
  expect(versions[2]).not.toBe(versions[0]);
});

test('errors point at the sources', async () => {
  await writeFiles(folder, {
    'src/main.ts': `interface Nothing {}\n\nconst fail = (): never => {\n  throw new Error('here');\n};\nfail();\n`,
  });
  bundle();
  const { stderr } = spawnSync(process.execPath, ['--enable-source-maps', join(folder, 'dist/main.mjs')], {
    encoding: 'utf8',
  });
  expect(stderr).toMatch(/at fail \(.*src\/main\.ts:4:\d+\)/);
});

test.each([
  ['a missing import', `import './missing.ts';`, 'missing.ts'],
  ['a missing file', `console.log(new URL('./missing.txt', import.meta.url));`, 'missing.txt'],
])('%s is refused by name', async (_, main, name) => {
  await writeFiles(folder, { 'src/main.ts': main });
  const { status, stderr } = bundle();
  expect(status).toBe(1);
  expect(stderr).toContain(name);
});

test('files of an earlier build are removed', async () => {
  await writeFiles(folder, { 'dist/old.mjs': '', 'src/main.ts': 'export {};' });
  bundle();
  expect(await readdir(join(folder, 'dist'))).not.toContain('old.mjs');
  expect(await readFile(join(folder, 'dist/main.mjs'), 'utf8')).toContain('createRequire');
});

test('dynamic imports are loaded on demand, and count for the version', async () => {
  const versions: string[] = [];
  for (const text of ['a', 'b']) {
    await writeFiles(folder, {
      'src/main.ts': `
        declare const KUBUS_VERSION: string;
        console.log(KUBUS_VERSION);
        if (process.argv.length > 2) console.log((await import('./late.ts')).late);
      `,
      'src/late.ts': `console.log('loaded'); export const late = ${JSON.stringify(text)};`,
    });
    expect(bundle()).toEqual({ status: 0, stdout: '.', stderr: '' });
    versions.push(runBundle().trim());
    const more = execFileSync(process.execPath, [join(folder, 'dist/main.mjs'), 'more'], { encoding: 'utf8' });
    expect(more).toBe(`${versions.at(-1) ?? ''}\nloaded\n${text}\n`);
  }
  expect(versions[0]).not.toBe(versions[1]);
  expect(versions.join()).not.toContain('loaded');
});

test('a program is bundled again when one of its files has changed, is missing, or was never bundled', async () => {
  const programs = { 'services/one': ['src/main.ts'], 'services/two': ['src/main.ts'] };
  await writeFiles(folder, {
    'services/one/src/main.ts': `import { shared } from '../../shared.ts'; console.log(shared);`,
    'services/two/src/main.ts': `console.log(new URL('../data.txt', import.meta.url).pathname);`,
    'services/two/data.txt': 'a',
    'services/shared.ts': `export const shared = 'a';`,
  });
  const built = () => bundle(programs).stdout;
  expect(built()).toBe('services/one,services/two');
  expect(built()).toBe('');
  await writeFiles(folder, { 'services/shared.ts': `export const shared = 'b';` });
  expect(built()).toBe('services/one');
  await writeFiles(folder, { 'services/two/data.txt': 'b' });
  expect(built()).toBe('services/two');
  expect(await readFile(join(folder, 'services/two/dist/data.txt'), 'utf8')).toBe('b');
  await rm(join(folder, 'services/one/dist'), { recursive: true });
  expect(built()).toBe('services/one');
  await writeFiles(folder, { 'package.json': '{"version": "0.2.0"}' });
  expect(built()).toBe('services/one,services/two');
  expect(built()).toBe('');
});

test('a failed bundle is tried again, and successful ones are kept', async () => {
  const programs = { one: ['main.ts'], two: ['main.ts'] };
  await writeFiles(folder, { 'one/main.ts': 'export {};', 'two/main.ts': `import './missing.ts';` });
  expect(bundle(programs).status).toBe(1);
  await writeFiles(folder, { 'two/missing.ts': 'export {};' });
  expect(bundle(programs).stdout).toBe('two');
});

test('programs that are not wanted stay as they are until they are', async () => {
  const programs = { one: ['main.ts'], two: ['main.ts'], three: ['main.ts'] };
  await writeFiles(folder, {
    'one/main.ts': `import '../shared.ts';`,
    'two/main.ts': `import '../shared.ts';`,
    'three/main.ts': 'export {};',
    'shared.ts': `console.log('before');`,
  });
  expect(bundle(programs).stdout).toBe('one,two,three');
  await writeFiles(folder, { 'shared.ts': `console.log('after');` });
  const two = () => readFile(join(folder, 'two/dist/main.mjs'), 'utf8');
  expect(bundle(programs, ['one', 'three']).stdout).toBe('one left: two');
  expect(await two()).toContain('before');
  // What every program depends on has changed: the note of what was built is only about what was.
  await writeFiles(folder, { 'package.json': '{"version": "0.2.0"}' });
  expect(bundle(programs, ['three']).stdout).toBe('three left: one,two');
  expect(bundle(programs).stdout).toBe('one,two');
  expect(await two()).toContain('after');
});

test('a restart needs the programs of the service and of the command line', () => {
  expect(programsOf('sync-loop')).toEqual(['services/sync-loop', 'packages/tools/cli']);
  expect(programsOf('pod-workers-2')).toEqual(['services/pod-workers', 'packages/tools/cli']);
  expect(programsOf('services')).toEqual(['packages/tools/service-host', 'packages/tools/cli']);
  expect(programsOf('unknown')).toEqual(Object.keys(everyProgram));
});

test('bundles are ASCII', async () => {
  const pattern = 'export const unit = /µs/;';
  await writeFiles(folder, {
    'src/main.ts': `import { unit } from './unit.ts'; console.log(unit.test('1 µs'));`,
    'src/unit.ts': pattern,
  });
  expect(bundle().status).toBe(0);
  expect(await readFile(join(folder, 'dist/main.mjs'), 'latin1')).toMatch(/^[\0-\x7f]*$/);
  expect(runBundle()).toBe('true\n');
  await writeFiles(folder, {
    'src/main.ts': `import { unit } from 'units'; console.log(unit);`,
    'node_modules/units/package.json': '{"type": "module", "main": "index.js"}',
    'node_modules/units/index.js': pattern,
  });
  const { status, stderr } = bundle();
  expect(status).toBe(1);
  expect(stderr).toMatch(/main\.mjs would have characters beyond ASCII: .*µs/);
});

test('of the API client only credentials are bundled', async () => {
  const client = 'node_modules/@kubernetes/client-node';
  const said = (what: string) => `console.log(${JSON.stringify(what)});`;
  await writeFiles(folder, {
    'src/main.ts': `import { KubeConfig } from '@kubernetes/client-node'; console.log(KubeConfig);`,
    [`${client}/package.json`]: '{"type": "module", "main": "dist/index.js"}',
    [`${client}/dist/index.js`]: `export * from './config.js'; ${said('the whole client')}`,
    [`${client}/dist/config.js`]: `
      import { Agent } from 'undici';
      import { used, server } from './gen/index.js';
      import { unused } from './unused.js';
      export const KubeConfig = [used, server, Agent].join();
      export const other = unused;
    `,
    [`${client}/dist/unused.js`]: `export const unused = 1; ${said('has side effects for all that esbuild knows')}`,
    [`${client}/dist/gen/index.js`]: `export * from "./models/all.js";\nexport * from './servers.js';\nexport const used = 'used';`,
    [`${client}/dist/gen/models/all.js`]: said('every kind'),
    [`${client}/dist/gen/servers.js`]: `export const server = 'server';`,
    'node_modules/undici/package.json': '{}',
    'node_modules/undici/index.js': said('undici'),
  });
  expect(bundle()).toEqual({ status: 0, stdout: '.', stderr: '' });
  await rm(join(folder, 'node_modules'), { recursive: true });
  expect(runBundle()).toBe('used,server,\n');
});
