// Bundles programs, each into the folder `dist` of its package: `services/NAME/dist/main.mjs` and its source map.
//
// - One process bundles all programs, reads each source once, and skips what would not change: a program is bundled again
//   when one of the files that it consists of has changed.
// - What is loaded by a dynamic import is written into separate files beside the bundle, so it costs nothing until it is
//   imported. Of a CommonJS module only `default` exists in such a file.
// - CommonJS dependencies (pino, @grpc/grpc-js) expect `require`, `__filename` and `__dirname`; the banner gives them.
// - KUBUS_VERSION becomes the version of the workspace and a digest of the bundle: `0.1.0+a1b2c3d4e5f6`. The same sources
//   give the same bytes, and different code gives another version, also from an unclean working tree or a cached build.
// - `node:http` is imported as scripts/node-http.cjs, which says why.
// - esbuild asks us about as few modules as possible, because each question costs more than it takes to bundle the module.
// - `new URL('./file', import.meta.url)` in our sources names a file that the program reads at run time: it is copied
//   beside the bundle. A TypeScript file there is the program of a thread: it has to be among the package's entry points.
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const nodeHttp = join(import.meta.dirname, 'node-http.cjs');

// At its usual frequency, garbage collection takes a quarter of esbuild's time.
process.env.GOGC ??= '400';

/**
 * Bundles the programs whose files have changed since the last build.
 *
 * @param {string} root the workspace's folder; the state of the build is stored in its node_modules/.cache
 * @param {Record<string, string[]>} programs the entry points in each package: `{ 'services/prober': ['src/main.ts'] }`
 * @param {string[]} wanted the packages to bundle if they have changed; by default all
 * @param {(folder: string, count: number, all: number) => void} onBundled called with each package that is bundled, and how many of all are
 * @returns {Promise<{ bundled: string[], left: string[] }>} the packages that were bundled, and those that have changed as well
 * @throws {Error} when a program cannot be bundled; esbuild has written the reason, and the bundled ones are stored
 */
export async function bundlePrograms(root, programs, wanted = Object.keys(programs), onBundled = () => undefined) {
  const noteFile = join(root, 'node_modules/.cache/kubus/programs.json');
  const sources = sourceReader();
  const [{ version }, key] = await Promise.all([readJson(join(root, 'package.json')), commonKey(root)]);
  const before = await readJson(noteFile).catch(() => ({}));
  const notes = before.key === key ? before.programs : {};

  const isBuilt = async (folder) => {
    if (!(folder in notes)) return false;
    const { inputs, outputs } = notes[folder];
    const present = new Set(await readdir(join(root, folder, 'dist')).catch(() => []));
    if (!outputs.every((name) => present.has(name))) return false;
    const digests = await Promise.all(Object.keys(inputs).map((path) => sources.digest(join(root, path))));
    return Object.values(inputs).every((digest, index) => digest === digests[index]);
  };
  const built = await Promise.all(Object.keys(programs).map(isBuilt));
  const changed = Object.keys(programs).filter((_, index) => !built[index]);
  const bundled = changed.filter((folder) => wanted.includes(folder));
  const left = changed.filter((folder) => !wanted.includes(folder));
  if (bundled.length === 0) return { bundled, left };

  const waiting = [...bundled];
  let count = 0;
  const next = async () => {
    for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
      const { inputs, outputs } = await bundle(join(root, folder), programs[folder], version, sources);
      const own = inputs.filter((path) => !path.includes('/node_modules/')).sort();
      const digests = await Promise.all(own.map(async (path) => [relative(root, path), await sources.digest(path)]));
      notes[folder] = { inputs: Object.fromEntries(digests), outputs };
      onBundled(folder, ++count, bundled.length);
    }
  };
  const results = await Promise.allSettled(Array.from({ length: availableParallelism() }, next));
  await mkdir(dirname(noteFile), { recursive: true });
  await writeFile(noteFile, JSON.stringify({ key, programs: notes }));
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return { bundled, left };
}

/** What every program depends on: how it is bundled, and the third-party packages. */
async function commonKey(root) {
  const files = globSync(
    ['package.json', 'pnpm-lock.yaml', 'tsconfig.base.json', '{proto,packages/*/*,services/*}/package.json'],
    { cwd: root },
  ).sort();
  const all = createHash('sha256').update(await readFile(import.meta.filename));
  for (const file of files) all.update(file).update(await readFile(join(root, file)));
  return all.digest('hex');
}

/** Reads each source once, even when several programs contain it. */
function sourceReader() {
  const read = new Map();
  const once = (path) => {
    if (!read.has(path)) read.set(path, readSource(path));
    return read.get(path);
  };
  return {
    read: once,
    digest: (path) =>
      once(path)
        .then(({ digest }) => digest)
        .catch(() => undefined),
  };
}

async function readSource(path) {
  const bytes = await readFile(path);
  const digest = createHash('sha256').update(bytes).digest('base64');
  const text = () => asciiOnly(bytes.toString('utf8'));
  if (path.endsWith('.ts')) return { bytes, digest, ...withAssets(text(), path) };
  return notAscii.test(path) ? { bytes, digest, text: text(), assets: [] } : { bytes, digest };
}

/** Modules of other packages whose patterns have characters beyond ASCII. */
const notAscii = /[\\/]@nats-io[\\/]jetstream[\\/]lib[\\/]jsclient\.js$/;

/** esbuild writes characters beyond ASCII as they are in patterns and tagged templates, and as escape sequences elsewhere. */
function asciiOnly(text) {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The text in which its assets have the names that they get beside the bundle. */
function withAssets(original, path) {
  const assets = [];
  const text = original.replace(/new URL\(\s*'([^']+)',\s*import\.meta\.url\s*\)/g, (_, file) => {
    const asset = resolve(dirname(path), file);
    assets.push(asset);
    return `new URL('./${isThread(asset) ? `${basename(asset, '.ts')}.mjs` : basename(asset)}', import.meta.url)`;
  });
  return { text, assets };
}

const isThread = (asset) => asset.endsWith('.ts');

/** Bundles the programs of one package, and returns the files that they consist of and the names of the files written. */
async function bundle(folder, entries, version, sources) {
  const outdir = join(folder, 'dist');
  /** As long as the digest that replaces it, so that the source map stays correct. */
  const unknownDigest = '0'.repeat(12);
  const assets = new Map();
  /** Programs by the name of their bundle. */
  const programs = new Map(entries.map((entry) => [basename(entry, '.ts'), resolve(folder, entry)]));

  const reading = {
    name: 'sources',
    setup(context) {
      context.onLoad({ filter: new RegExp(`\\.ts$|${notAscii.source}`) }, async ({ path }) => {
        const { text, assets: named } = await sources.read(path);
        for (const asset of named) {
          if (isThread(asset)) {
            if (programs.get(basename(asset, '.ts')) === asset) continue;
            throw new Error(
              `${path} starts a thread with ${asset}: add that program to ${basename(folder)} in programs.mjs`,
            );
          }
          const name = basename(asset);
          if (assets.has(name) && assets.get(name) !== asset) {
            throw new Error(`Two files would be called ${name}: ${assets.get(name)} and ${asset}`);
          }
          assets.set(name, asset);
        }
        return { contents: text, loader: path.endsWith('.ts') ? 'ts' : 'js' };
      });
    },
  };
  const options = {
    absWorkingDir: folder,
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    sourcemap: 'linked',
    sourcesContent: false,
    // Whitespace is a third of the source text, which every process holds in memory; names stay, for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    banner: {
      js: [
        "import { createRequire as __createRequire } from 'node:module';",
        'const require = __createRequire(import.meta.url);',
        'const __filename = import.meta.filename;',
        'const __dirname = import.meta.dirname;',
      ].join('\n'),
    },
    alias: { http: nodeHttp, 'node:http': nodeHttp },
    define: { KUBUS_VERSION: JSON.stringify(`${version}+${unknownDigest}`) },
    plugins: [credentials, reading],
    logLevel: 'warning',
    metafile: true,
    write: false,
  };

  const { outputFiles, metafile } = await build({ ...options, entryPoints: Object.fromEntries(programs) });

  const all = createHash('sha256');
  for (const { path, text } of outputFiles) {
    checkAscii(path, text);
    all.update(text);
  }
  const digest = all.digest('hex').slice(0, unknownDigest.length);
  const outputs = new Map(
    outputFiles.map(({ path, text }) => [
      basename(path),
      text.replaceAll(`${version}+${unknownDigest}`, `${version}+${digest}`),
    ]),
  );
  for (const [name, asset] of assets) {
    const { bytes } = await sources.read(asset).catch((error) => {
      throw new Error(`${asset} is named by a program and cannot be copied: ${error.message}`);
    });
    outputs.set(name, bytes);
  }
  await replaceFiles(outdir, outputs, (name) => programs.has(basename(name, '.mjs')));
  const inputs = Object.keys(metafile.inputs).filter((path) => !path.startsWith(`${leftOut}:`));
  return {
    inputs: [...inputs.map((path) => resolve(folder, path)), ...assets.values()],
    outputs: [...outputs.keys()].sort(),
  };
}

/** One character beyond Latin-1 makes V8 store the whole text with two bytes a character. */
function checkAscii(path, text) {
  const at = text.search(/[^\0-\x7f]/);
  if (at < 0) return;
  const found = JSON.stringify(text.slice(Math.max(0, at - 40), at + 40));
  throw new Error(`${path} would have characters beyond ASCII: name the module in bundle.mjs that contains ${found}`);
}

/** A program that starts during the build finds a complete bundle: entry points are replaced after what they import. */
async function replaceFiles(outdir, files, isEntryPoint) {
  await mkdir(outdir, { recursive: true });
  for (const [name, content] of [...files].sort(([a], [b]) => isEntryPoint(a) - isEntryPoint(b))) {
    const path = join(outdir, name);
    await writeFile(`${path}.new`, content);
    await rename(`${path}.new`, path);
  }
  for (const name of await readdir(outdir)) {
    if (!files.has(name)) await rm(join(outdir, name), { recursive: true });
  }
}

const leftOut = 'left-out';
/**
 * @kubernetes/client-node is used for credentials only. It has a class for every kind of the API, three quarters of all
 * that would be loaded; and its own way to send requests needs undici, which is not used.
 */
const client = /[\\/]node_modules[\\/]@kubernetes[\\/]client-node[\\/]/;
/** Marks relative imports within that package: esbuild selects what it asks about by what is imported, not by who imports it. */
const ofClient = 'client-node:';
const credentials = {
  name: 'credentials',
  setup(context) {
    context.onResolve({ filter: /^(client-node:|@kubernetes\/client-node$|undici$)/ }, async ({ path, ...args }) => {
      if (path.startsWith(ofClient)) {
        return { path: join(args.resolveDir, path.slice(ofClient.length)), sideEffects: false };
      }
      if (path === 'undici') return client.test(args.importer) ? { path, namespace: leftOut } : undefined;
      if (args.pluginData === credentials) return undefined;
      const found = await context.resolve(path, { ...args, pluginData: credentials });
      return { ...found, path: join(dirname(found.path), 'config.js'), sideEffects: false };
    });
    context.onLoad({ filter: /[\\/]client-node[\\/]dist[\\/].*\.js$/ }, async ({ path }) => {
      const text = (await readFile(path, 'utf8'))
        .replace(path.endsWith(join('gen', 'index.js')) ? /^export .* from ["']\.\/(models|apis|types)\/.*$/gm : '', '')
        .replace(/(?<=\sfrom\s*["'])(?=\.\.?\/)/g, ofClient);
      return { contents: text };
    });
    context.onLoad({ filter: /./, namespace: leftOut }, () => ({ contents: 'module.exports = {};' }));
  },
};

async function readJson(path) {
  return JSON.parse(await readFile(path, 'utf8'));
}
