// Bundles programs: node ../../scripts/bundle.mjs src/main.ts ...   (writes dist/main.mjs and its source map)
//
// - What is loaded by a dynamic import lies in files of its own beside it: who does not come there pays nothing for it. Of a
//   CommonJS module only `default` is there then.
// - CommonJS dependencies (pino, @grpc/grpc-js) expect `require`, `__filename` and `__dirname`; the banner gives them.
// - KUBUS_VERSION becomes the version of the workspace and a digest of the bundle: `0.1.0+a1b2c3d4e5f6`. The same sources
//   give the same bytes, and a program whose code differs says so, also from an unclean working tree or a cached build.
// - `new URL('./file', import.meta.url)` in our sources names a file that the program reads while it runs: it is copied
//   beside the bundle. Where the file is TypeScript, it is the program of a thread: bundled beside the first one.
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const root = resolve(import.meta.dirname, '..');
const entries = process.argv.slice(2);
if (entries.length === 0) {
  console.error('usage: node bundle.mjs ENTRY...');
  process.exit(2);
}

const outdir = resolve('dist');
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
/** As long as the digest that replaces it, so that the source map stays true. */
const unknownDigest = '0'.repeat(12);

const assets = new Map();
/** Programs by the name of their bundle. */
const programs = new Map(entries.map((entry) => [basename(entry, '.ts'), resolve(entry)]));
const sources = {
  name: 'sources',
  setup(context) {
    context.onLoad({ filter: /\.[cm]?[jt]s$/ }, async ({ path }) => {
      const text = asciiOnly(await readFile(path, 'utf8'));
      return path.endsWith('.ts')
        ? { contents: withAssets(text, path), loader: 'ts' }
        : { contents: text, loader: 'js' };
    });
  },
};

/**
 * @kubernetes/client-node is used for credentials alone. It has a class for every kind of the API, in modules that do
 * nothing when they are loaded and do not say so; and its own way to send requests needs undici, which nobody calls.
 */
const client = /[\\/]node_modules[\\/]@kubernetes[\\/]client-node[\\/]/;
const credentials = {
  name: 'credentials',
  setup(context) {
    context.onResolve({ filter: /^(\.|@kubernetes\/client-node$|undici$)/ }, async ({ path, pluginData, ...args }) => {
      const ofClient = client.test(args.importer);
      if (pluginData === credentials || (!ofClient && !path.startsWith('@'))) return undefined;
      if (path === 'undici') return { path, namespace: 'left-out' };
      const found = await context.resolve(path, { ...args, pluginData: credentials });
      return { ...found, sideEffects: false };
    });
    context.onLoad({ filter: /./, namespace: 'left-out' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** One character beyond Latin-1 makes V8 hold the whole text with two bytes for each; esbuild leaves those in patterns. */
function asciiOnly(text) {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function withAssets(text, path) {
  return text.replace(/new URL\(\s*'([^']+)',\s*import\.meta\.url\s*\)/g, (_, file) => {
    const asset = resolve(dirname(path), file);
    const isProgram = asset.endsWith('.ts');
    const [name, known] = isProgram ? [basename(asset, '.ts'), programs] : [basename(asset), assets];
    if (known.has(name) && known.get(name) !== asset) {
      throw new Error(`Two files would be called ${name}: ${known.get(name)} and ${asset}`);
    }
    known.set(name, asset);
    return `new URL('./${isProgram ? `${name}.mjs` : name}', import.meta.url)`;
  });
}

await rm(outdir, { recursive: true, force: true });
const options = {
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
  define: { KUBUS_VERSION: JSON.stringify(`${version}+${unknownDigest}`) },
  plugins: [credentials, sources],
  logLevel: 'warning',
  write: false,
};

/** Which programs of threads there are, only building tells. */
async function buildAll() {
  const entryPoints = Object.fromEntries(programs);
  const built = await build({ ...options, entryPoints }).catch(() => process.exit(1));
  return programs.size > Object.keys(entryPoints).length ? buildAll() : built;
}
const { outputFiles } = await buildAll();

await mkdir(outdir, { recursive: true });
const all = createHash('sha256');
for (const { text } of outputFiles) all.update(text);
const digest = all.digest('hex').slice(0, unknownDigest.length);
for (const { path, text } of outputFiles) {
  await writeFile(path, text.replaceAll(`${version}+${unknownDigest}`, `${version}+${digest}`));
}
for (const [name, asset] of assets) {
  await copyFile(asset, join(outdir, name)).catch((error) => {
    console.error(`${relative(root, asset)} is named by the program and cannot be copied: ${error.message}`);
    process.exit(1);
  });
}
